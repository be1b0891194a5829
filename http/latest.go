package http

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"inboxd/http/search"
	"inboxd/http/wire"
	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/inbox"
)

const maxWait = 60 * time.Second

// latestHandlers returns the newest message, immediately or when it arrives.
type latestHandlers struct {
	*messageHandlers
	server *Server
}

func (l *latestHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodGet, agentInbox + "/latest", anyCredential, scopeRead, false, nil, l.showLatest},
	}
}

// latestQuery is the query of a request for the latest message.
type latestQuery struct {
	afterID          int64
	checkedUpTo      int64  // messages up to this id were checked, and none of them matches
	to               string // envelope recipient; empty: any
	receivedSince    time.Time
	ifNoneMatch      string // If-None-Match
	messageDirection messageDirection
	maxWaiting       time.Duration
	otp              bool
	senderFilter     senderFilter
	verifiedOnly     bool   // only messages whose From is verified
	subjectPart      string // folded
	shownFields      fieldSet
}

func (r *apiRequest) readWanted() (latestQuery, error) {
	q := r.queryReader()
	w := latestQuery{
		afterID:          q.afterID(r.inboxView),
		to:               q.readRecipient(r),
		receivedSince:    q.readTime("since"),
		ifNoneMatch:      string(r.httpCtx.Request.Header.PeekCanonical(headerIfNoneMatch)),
		maxWaiting:       time.Duration(q.readNumber("wait", 0, 0, int64(maxWait/time.Second))) * time.Second,
		messageDirection: q.readDirection(),
		otp:              q.readFlag("otp"),
		senderFilter:     q.readSender("from"),
		verifiedOnly:     q.readFlag("verified"),
		subjectPart:      q.readFolded("subject"),
		shownFields:      q.readSelection(q.responseForm.messageFields),
	}
	return w, q.firstErr
}

var headerIfNoneMatch = []byte("If-None-Match")

// afterID returns an id. "now" means the highest id in the inbox when the request arrived.
func (q *queryReader) afterID(v *inbox.View) int64 {
	if q.rawValue("after") == "now" {
		return v.LastID
	}
	return q.readNumber("after", 0, 0, math.MaxInt64)
}

// isShareable reports whether polls share the response: that of the inbox or, with to, of a tag.
func (w *latestQuery) isShareable() bool {
	return *w == latestQuery{maxWaiting: w.maxWaiting, ifNoneMatch: w.ifNoneMatch, to: w.to, checkedUpTo: w.checkedUpTo, messageDirection: receivedOnly, shownFields: allFields}
}

// mostUnasked is how many messages a poll may search without a turn.
const mostUnasked = 256

// findNewest returns the newest matching message, or nil. If it must search the texts of many messages,
// it takes a turn, like a search. It never checks a message twice, because one that does not match
// now never will.
func (w *latestQuery) findNewest(r *apiRequest) (*inbox.Message, error) {
	after := max(w.afterID, w.checkedUpTo)
	if w.needsTexts() && r.inboxView.CountAfter(after) > mostUnasked {
		done, err := r.server.searchTurns.TakeTurn(r.ctx, r.principal.Account)
		if err != nil {
			return nil, err
		}
		defer done()
	}
	found := r.inboxView.LatestMatching(r.requestTime, func(m *inbox.Message) bool {
		return m.ID > after && (m.IsDamaged || w.messageDirection.matchesMessage(m) && w.matchesAll(r, m))
	})
	if found == nil && len(r.inboxView.Messages) > 0 {
		w.checkedUpTo = max(w.checkedUpTo, r.inboxView.Messages[len(r.inboxView.Messages)-1].ID)
	}
	return found, nil
}

// matchesMeta checks the facts in memory of a message, but not its texts.
func (w *latestQuery) matchesMeta(m *inbox.Message) bool {
	if w.otp && m.OTP == "" || w.verifiedOnly && !isProven(m) {
		return false
	}
	return m.IsTo(w.to) && m.IsSince(w.receivedSince)
}

// isProven reports whether a message comes from its sender's domain, or was sent from this inbox.
func isProven(m *inbox.Message) bool { return m.FromVerified || m.Direction == inbox.Out }

// needsTexts reports whether texts must be searched.
func (w *latestQuery) needsTexts() bool {
	return w.senderFilter != senderFilter{} || w.subjectPart != ""
}

// matchesAll checks a message completely: passes and, if needed, fits.
func (w *latestQuery) matchesAll(r *apiRequest, m *inbox.Message) bool {
	return w.matchesMeta(m) && (!w.needsTexts() || w.matchesTexts(r, m))
}

// matchesTexts checks the subject and the sender's address.
func (w *latestQuery) matchesTexts(r *apiRequest, m *inbox.Message) bool {
	at := search.TextKey{InboxAddress: r.inboxView.Address, ID: m.ID, At: m.ReceivedAt.UnixMilli(), HeadOnly: true}
	head, kept := r.server.textCache.Of(at)
	if !kept {
		head = search.JoinParts(search.FoldText(m.Subject), search.FoldText(m.From.Email))
		r.server.textCache.KeepText(at, head)
	}
	subject, from, _ := strings.Cut(head, search.PartSeparator)
	return strings.Contains(subject, w.subjectPart) && w.senderFilter.matchesAddress(from)
}

// showLatest responds with the newest matching message, by default a received one, and waits for one if
// the request asks for it (specification, Latest). The wire usually responds to polls without
// further parameters.
func (l *latestHandlers) showLatest(r *apiRequest) error {
	w, err := r.readWanted()
	if err != nil {
		return err
	}
	found, err := w.findNewest(r)
	if err != nil {
		return err
	}
	if w.maxWaiting == 0 || w.answeredBy(found) {
		return l.respondLatest(r, &w)
	}
	return l.server.parkRequest(r, func(p *parkedRequest) {
		p.respondWith(p.awaitMessage(&w), func(r *apiRequest) error { return l.respondLatest(r, &w) })
	})
}

func (l *latestHandlers) respondLatest(r *apiRequest, w *latestQuery) error {
	response, err := l.renderResponse(r, w)
	if err != nil {
		return err
	}
	response.SendResponse(r.httpCtx)
	return nil
}

// answeredBy reports whether found ends a wait. Without If-None-Match, any match does. With it, any
// result with another ETag does, also no message.
func (w *latestQuery) answeredBy(found *inbox.Message) bool {
	if w.ifNoneMatch == "" {
		return found != nil
	}
	return !wire.MatchesETag([]byte(w.ifNoneMatch), etagOf(found))
}

// awaitMessage returns when p.view has a matching message, or when the wait is over. It checks
// ownership again after each change.
func (p *parkedRequest) awaitMessage(w *latestQuery) error {
	p.server.waitingPolls.Add(1)
	defer p.server.waitingPolls.Add(-1)
	for until := time.Now().Add(w.maxWaiting); ; {
		over, err := p.pauseUntil(until, p.inboxView.SupersededSignal(), nil)
		if over || err != nil {
			return err
		}
		answered := false
		err = p.withContext(func(r *apiRequest) error {
			if err := r.refreshView(); err != nil {
				return err
			}
			found, err := w.findNewest(r)
			answered = w.answeredBy(found)
			return err
		})
		if answered || err != nil {
			return err
		}
	}
}

// renderTries bounds the attempts when a message is deleted between finding and reading it.
const renderTries = 4

// renderResponse makes the response from the current view, or returns the one that the view carries if
// polls share it.
func (l *latestHandlers) renderResponse(r *apiRequest, w *latestQuery) (*wire.PollResponse, error) {
	for range renderTries {
		if ready := w.carriedResponse(r); ready != nil {
			return ready, nil
		}
		meta, err := w.findNewest(r)
		if err != nil {
			return nil, err
		}
		e := messageJSON{messageMeta: meta}
		if e.messageMeta == nil {
			return l.newResponse(r, w, r.appendEnd([]byte(`{"email":null`)), nil), nil
		}
		if err := r.reserveBytes(e.estimateBytes(w.shownFields)); err != nil {
			return nil, err
		}
		here, err := l.fillContent(r, &e, w.shownFields)
		if err != nil {
			return nil, err
		}
		if here {
			b := appendMessage(append([]byte(nil), `{"email":`...), &e, w.shownFields)
			return l.newResponse(r, w, r.appendEnd(b), e.messageMeta), nil
		}
		if err := r.refreshView(); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.TemporarilyUnavailable, detailUnavailable)
}

// carriedResponse returns the response that the view carries, or nil.
func (w *latestQuery) carriedResponse(r *apiRequest) *wire.PollResponse {
	switch {
	case !w.isShareable():
		return nil
	case w.to == "":
		return wire.ResponseOf(r.inboxView, r.requestTime)
	}
	return wire.TagViewOf(r.inboxView, w.to, r.requestTime)
}

// newResponse makes the response, and lets the view carry it if polls share it.
func (l *latestHandlers) newResponse(r *apiRequest, w *latestQuery, body []byte, m *inbox.Message) *wire.PollResponse {
	var expires time.Time
	if m != nil {
		expires = m.ExpiresAt
	}
	polled := cmp.Or(w.to, r.inboxAddress)
	response := wire.NewResponse(polled, body, etagOf(m), expires)
	switch {
	case !w.isShareable():
	case w.to == "":
		response.KeepInView(r.inboxView)
	case w.to != r.inboxAddress && address.WithoutTag(w.to) == r.inboxAddress:
		l.server.wire.KeepTagView(r.inboxView, w.to, response)
	}
	return response
}

// etagOf returns the ETag of a message. It depends on the id and on what can change: the read mark,
// or the delivery status. So it is the same after a restart. No message has an ETag too.
func etagOf(m *inbox.Message) []byte {
	if m == nil {
		return []byte(`"0"`)
	}
	tag := strconv.AppendInt([]byte(`"`), m.ID, 10)
	if m.OutgoingDelivery != nil {
		e := &messageJSON{messageMeta: m}
		sum := sha256.Sum256(appendRecipients(appendSendStatus(nil, e), e))
		return fmt.Appendf(tag, `-%x"`, sum[:8])
	}
	if m.IsRead {
		return append(tag, `-read"`...)
	}
	return append(tag, `-new"`...)
}
