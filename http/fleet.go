package http

import (
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/valyala/fasthttp"

	"inboxd/http/errorbody"
	"inboxd/internal/base/fault"
	"inboxd/internal/core/idempotency"
	"inboxd/internal/core/inbox"
)

// fleetHandlers has the calls for accounts with many inboxes: creation in batches, one list of the
// messages of all inboxes, and deletion of old messages (specification, Fleets; ADR 0056).
type fleetHandlers struct {
	inboxHandlers   *inboxHandlers
	messageHandlers *messageHandlers
	accounts        Auth
}

func (f *fleetHandlers) listRoutes() []routeSpec {
	return []routeSpec{
		{methodPost, agentInboxes + "/batch", accountCredentials, scopeManage, false, batchShape, f.createInboxes},
		{methodGet, "/api/v1/messages", accountCredentials, scopeRead, false, nil, f.listMessages},
		{methodDelete, agentInbox + "/messages", anyCredential, scopeWrite, false, nil, f.deleteMessages},
	}
}

// fleetListing is a query for messages over all inboxes of an account.
type fleetListing struct {
	messageListing
	messageFilter latestQuery // otp, from, verified and subject
	inboxFilter   inboxFilter
	afterPlace    messagePlace
	isTruncated   bool // more candidates exist than were kept
}

func (r *apiRequest) readFleetListing() (fleetListing, error) {
	q := r.queryReader()
	a := fleetListing{
		messageListing: messageListing{
			pageLimit: int(q.readNumber("limit", defaultInboxes, 1, maxInboxes)), beforeID: math.MaxInt64,
			to: q.readRecipient(r), receivedSince: q.readTime("since"), unreadOnly: q.readFlag("unread"), searchText: q.readFolded("q"),
			direction: q.readDirection(), shownFields: q.readSelection(listFields),
		},
		messageFilter: latestQuery{otp: q.readFlag("otp"), senderFilter: q.readSender("from"), verifiedOnly: q.readFlag("verified"), subjectPart: q.readFolded("subject")},
		inboxFilter:   inboxFilter{labelPart: q.readFolded("label")}, afterPlace: q.readPlace("cursor"),
	}
	return a, q.firstErr
}

// listCandidate is a message that a list may contain.
type listCandidate struct {
	messagePlace
	meta *inbox.Message
	view *inbox.View
}

// listMessages lists the newest messages of all inboxes.
func (f *fleetHandlers) listMessages(r *apiRequest) error {
	a, err := r.readFleetListing()
	if err != nil {
		return err
	}
	if a.shownFields&contentFields != 0 || a.searchText != "" {
		if err := r.awaitCharge(min(int64(a.pageLimit)*listBodyBytes, maxListBytes) + maxContentBytes); err != nil {
			return err
		}
	}
	if r.endTurn, err = r.server.searchTurns.TakeTurn(r.ctx, r.principal.Account); err != nil {
		return err
	}
	found, lost, err := f.listCandidates(r, &a)
	if err != nil {
		return err
	}
	b, damaged, next, err := f.appendAcross([]byte(`{"emails":[`), r, &a, found)
	if err != nil {
		return err
	}
	b = append(b, `],"next_cursor":`...)
	if next == "" {
		b = append(b, "null"...)
	} else {
		b = appendString(b, next)
	}
	for _, address := range lost {
		damaged = append(damaged, listCandidate{messagePlace: messagePlace{inboxAddress: address}})
	}
	if len(damaged) > 0 {
		b = appendList(append(b, `,"damaged":`...), damaged, appendDamaged)
	}
	writeJSON(r.httpCtx, fasthttp.StatusOK, append(b, '}'))
	return nil
}

// appendDamaged appends a damaged message, or a whole inbox if there is no id.
func appendDamaged(b []byte, c listCandidate) []byte {
	b = appendString(append(b, `{"inbox":`...), c.inboxAddress)
	if c.id != 0 {
		b = strconv.AppendInt(append(b, `,"id":`...), c.id, 10)
	}
	return append(b, '}')
}

// listCandidates returns the messages that match by the facts in memory, newest first. It returns at
// least as many as the list shows; all of them if texts are searched. lost are the inboxes that
// cannot be read.
func (f *fleetHandlers) listCandidates(r *apiRequest, a *fleetListing) (found []listCandidate, lost []string, err error) {
	most := 4 * maxInboxes
	if a.searchText != "" {
		most = math.MaxInt
	}
	for cursor, more := "", true; more; more = cursor != "" {
		page, err := f.inboxHandlers.inboxManager.ListInboxes(r.ctx, r.principal.Account, cursor, maxInboxes, a.inboxFilter.matchesView)
		if err != nil {
			return nil, nil, err
		}
		cursor, lost = page.NextCursor, append(lost, page.DamagedAddresses...)
		for _, v := range page.Views {
			if found = a.appendOf(found, r, v); len(found) > most {
				found, a.isTruncated = newestOf(found, a.pageLimit+1), true
			}
		}
	}
	return newestOf(found, len(found)), lost, nil
}

func (a *fleetListing) appendOf(found []listCandidate, r *apiRequest, v *inbox.View) []listCandidate {
	r.inboxView = v
	for _, m := range v.Messages {
		at := messagePlace{m.ReceivedAt.UnixMilli(), v.Address, m.ID}
		if m.IsExpired(r.requestTime) || a.afterPlace.compareTo(at) >= 0 || !a.matchesMeta(m) {
			continue
		}
		if m.IsDamaged || a.messageFilter.matchesAll(r, m) {
			found = append(found, listCandidate{at, m, v})
		}
	}
	return found
}

func newestOf(found []listCandidate, n int) []listCandidate {
	slices.SortFunc(found, func(a, b listCandidate) int { return a.messagePlace.compareTo(b.messagePlace) })
	return found[:min(n, len(found))]
}

// appendAcross appends the messages with their inboxes. It returns the cursor of the next page,
// empty if there is none.
func (f *fleetHandlers) appendAcross(b []byte, r *apiRequest, a *fleetListing, found []listCandidate) (_ []byte, damaged []listCandidate, next string, err error) {
	shown := 0
	for i, c := range found {
		r.inboxView, r.inboxAddress = c.view, c.inboxAddress
		e := messageJSON{messageMeta: c.meta, bodyMax: listBodyBytes}
		here, err := f.messageHandlers.matchesSearch(r, &e, a.searchText)
		if err == nil && !here {
			continue
		}
		if shown+len(damaged) == a.pageLimit || len(b) >= maxListBytes {
			return b, damaged, found[i-1].encodeCursor(), nil
		}
		if err == nil {
			here, err = f.messageHandlers.fillContent(r, &e, a.shownFields)
		}
		switch {
		case fault.Is(err, fault.DataDamaged):
			damaged = append(damaged, c)
		case err != nil:
			return b, nil, "", err
		case here:
			if shown++; shown > 1 {
				b = append(b, ',')
			}
			b = appendString(append(b, `{"inbox":`...), c.inboxAddress)
			rest := len(b)
			b = appendMessage(b, &e, a.shownFields)
			b[rest] = ',' // the message's members follow in the same object
		}
	}
	if a.isTruncated { // some of the kept candidates were deleted in the meantime
		next = found[len(found)-1].encodeCursor()
	}
	return b, damaged, next, nil
}

// deleteMessages deletes old messages of an inbox, or of one tag of it.
func (f *fleetHandlers) deleteMessages(r *apiRequest) error {
	q := r.queryReader()
	before, older := q.rawValue("before"), q.rawValue("older_than")
	cmd := inbox.DeleteOlder{BeforeID: q.readNumber("before", 0, 1, math.MaxInt64), To: r.taggedAddress}
	if hours := q.readNumber("older_than", 0, 1, maxOlder); hours > 0 {
		cmd.ReceivedBefore = r.requestTime.Add(-time.Duration(hours) * time.Hour)
	}
	if (before == "") == (older == "") {
		q.rejectParameter("before", "or 'older_than' is required, but not both")
	}
	if q.firstErr != nil {
		return q.firstErr
	}
	gone, err := f.messageHandlers.messageReader.Do(r.ctx, r.inboxAddress, cmd)
	return r.json(fasthttp.StatusOK, struct {
		OK      bool `json:"ok"`
		Deleted int  `json:"deleted"`
	}{true, gone.Count}, err)
}

// maxOlder is ten years, in hours.
const maxOlder = 87_600

const (
	maxBatch = 1000
	// batchAtOnce is how many creations of a batch run concurrently, so that their commits share
	// disk syncs.
	batchAtOnce = 256
)

// batchCreation is one entry of a batch with its result.
type batchCreation struct {
	requestBody  jsontext.Value
	req          idempotency.Request
	inboxOrder   inbox.CreationRequest
	responseBody []byte
	err          error
}

// createInboxes creates up to maxBatch inboxes. Each entry has its own result, in the order of the
// request.
func (f *fleetHandlers) createInboxes(r *apiRequest) error {
	all, err := f.readCreations(r)
	if err != nil {
		return err
	}
	together, after, err := f.planCreations(r, all)
	if err != nil {
		return err
	}
	var makers sync.WaitGroup
	work := make(chan *batchCreation)
	for range min(batchAtOnce, len(together)) {
		makers.Go(func() {
			for c := range work {
				f.createOne(r, c)
			}
		})
	}
	for _, c := range together {
		work <- c
	}
	close(work)
	makers.Wait()
	for _, c := range after {
		f.createOne(r, c)
	}
	b := []byte(`{"results":[`)
	for i, c := range all {
		if i > 0 {
			b = append(b, ',')
		}
		b = r.appendResult(b, c)
	}
	writeJSON(r.httpCtx, fasthttp.StatusOK, append(b, "]}"...))
	return nil
}

// readCreations parses the batch. With an idempotency key, the whole batch is refused if the key was
// used for a different one: each created entry has a record under a key derived from it.
func (f *fleetHandlers) readCreations(r *apiRequest) ([]*batchCreation, error) {
	named, err := r.idempotencyRequest()
	if err != nil {
		return nil, err
	}
	list, _ := r.bodyValues["inboxes"].([]jsontext.Value)
	all := make([]*batchCreation, len(list))
	for i, body := range list {
		c := &batchCreation{requestBody: body, req: named.ForPart(i)}
		if v, err := decodeBody(body, orderShape); err != nil {
			c.err = err
		} else {
			c.inboxOrder = v.inboxOrder()
		}
		if c.req.IsRepeatable() {
			if err := f.inboxHandlers.inboxManager.CheckRequest(r.ctx, r.principal.Account, c.req); err != nil {
				return nil, err
			}
		}
		all[i] = c
	}
	return all, nil
}

// planCreations decides which creations may run concurrently, and which must follow one after the
// other. If there may not be enough places, all run in sequence, so that the first ones get them. A
// prefix that occurred before in the batch also runs in sequence, so that its first entry gets it.
func (f *fleetHandlers) planCreations(r *apiRequest, all []*batchCreation) (together, after []*batchCreation, err error) {
	usage, err := f.accounts.AccountUsage(r.ctx, r.principal.Account)
	if err != nil {
		return nil, nil, err
	}
	scarce := usage.InboxCount+int64(len(all)) > usage.Plan.MaxInboxes
	prefixes := map[string]bool{}
	for _, c := range all {
		prefix := ""
		if c.inboxOrder.Prefix != nil {
			prefix = *c.inboxOrder.Prefix
		}
		switch {
		case c.err != nil:
		case scarce, prefix != "" && prefixes[prefix]:
			after = append(after, c)
		default:
			together = append(together, c)
		}
		prefixes[prefix] = true
	}
	return together, after, nil
}

func (f *fleetHandlers) createOne(r *apiRequest, c *batchCreation) {
	if c.req.IsRepeatable() {
		var made idempotency.FirstResult
		made, c.err = f.inboxHandlers.inboxManager.CreateInboxOnce(r.ctx, r.principal.Account, c.inboxOrder, c.req, createdBody)
		c.responseBody = made.EncodedResponse
		return
	}
	view, place, err := f.inboxHandlers.inboxManager.CreateInbox(r.ctx, r.principal.Account, c.inboxOrder)
	if c.err = err; err == nil {
		c.responseBody = createdBody(place, view.CreatedAt)
	}
}

// appendResult appends what the response to a single creation would be.
func (r *apiRequest) appendResult(b []byte, c *batchCreation) []byte {
	if c.err == nil {
		return append(append(append(b, `{"status":201,"inbox":`...), c.responseBody...), '}')
	}
	f := r.server.reportError(r, c.err)
	b = strconv.AppendInt(append(b, `{"status":`...), int64(errorbody.Status(f)), 10)
	return append(errorbody.Append(append(b, ','), f), '}')
}
