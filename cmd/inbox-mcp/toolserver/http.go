package toolserver

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Path is where the tools are served over HTTP.
const Path = "/mcp"

const (
	// maxRequest bounds the body of a request, in bytes, and slowBody how long it may take to come.
	maxRequest = 1 << 20
	slowBody   = 30 * time.Second
)

// HTTPOptions say who may call.
type HTTPOptions struct {
	// Address is where is listened, HOST:PORT: requests must name a loopback host, or this one.
	Address string
	// Token is what requests must bear (RFC 6750); empty: none is asked for.
	Token string
}

// Handler serves clients over streamable HTTP, without sessions (ADR 0071): each request stands for itself.
func (s *Server) Handler(o HTTPOptions) http.Handler {
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // the gate is stricter
		MaxRequestBodyBytes:          maxRequest,
	})
	return &gate{options: o, streams: streams}
}

// gate lets through what may be served.
type gate struct {
	options HTTPOptions
	streams http.Handler
}

// ServeHTTP implements http.Handler.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	coding := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	switch origin := r.Header.Get("Origin"); {
	case !g.names(r.Host):
		refuseHTTP(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Unknown host %.100q. Use the host name that --http names, or a loopback address", r.Host))
	case origin != "" && !g.own(origin):
		refuseHTTP(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Web pages of the origin %.100q may not call this server", origin))
	case !g.admits(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="inbox-mcp"`)
		refuseHTTP(w, http.StatusUnauthorized, jsonrpc.CodeInvalidRequest, "A bearer token is required: send Authorization: Bearer TOKEN with the token of --http-token")
	case r.URL.Path != Path:
		refuseHTTP(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "Unknown path. The only path is "+Path)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuseHTTP(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "Send messages with POST. Sessions and standalone streams are not supported")
	case coding != "" && !strings.EqualFold(coding, "identity"): // RFC 9110 section 15.5.16
		w.Header().Set("Accept-Encoding", "identity")
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, fmt.Sprintf("The content coding %.64q is not supported. Send the body without Content-Encoding", coding))
	default:
		if body, ok := readBody(w, r); ok && g.speaks(w, r, body) {
			g.streams.ServeHTTP(&worded{ResponseWriter: w, id: idOf(body)}, r.WithContext(carried(r.Context())))
		}
	}
}

// speaks answers a revision that nobody knows.
func (g *gate) speaks(w http.ResponseWriter, r *http.Request, body []byte) bool {
	asked := r.Header.Get("Mcp-Protocol-Version")
	if asked == "" || slices.Contains(mcp.SupportedProtocolVersions(), asked) {
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(unsupported(idOf(body), asked)) // who has gone hears nothing
	return false
}

// worded puts refusals of the SDK, which are plain text, in the form of the protocol.
type worded struct {
	http.ResponseWriter
	id      any
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *worded) WriteHeader(status int) {
	if w.refused = status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); w.refused {
		w.Header().Set("Content-Type", "application/json")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *worded) Write(b []byte) (int, error) {
	if !w.refused {
		return w.ResponseWriter.Write(b)
	}
	code := jsonrpc.CodeInvalidRequest
	if strings.HasPrefix(string(b), "JSON RPC not handled") {
		code = jsonrpc.CodeMethodNotFound
	}
	_, err := w.ResponseWriter.Write(refusalOf(w.id, code, strings.TrimSpace(string(b))))
	return len(b), err
}

// Flush implements http.Flusher.
func (w *worded) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // best effort, as its like

// Unwrap is for http.ResponseController.
func (w *worded) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// names reports whether a host, perhaps with a port, is loopback or the one that is listened on. Of an
// address that stands for all of the machine's any address will do: what a hostile page can bend to
// us is a name (DNS rebinding).
func (g *gate) names(host string) bool {
	name := hostname(host)
	if Loopback(name) {
		return true
	}
	own := hostname(g.options.Address)
	if at, err := netip.ParseAddr(own); own == "" || err == nil && at.IsUnspecified() {
		_, err := netip.ParseAddr(name)
		return err == nil
	}
	return strings.EqualFold(name, own)
}

func (g *gate) own(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && g.names(u.Host)
}

// hostname is a host without port and brackets.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// Loopback reports whether a host is this machine's own for itself, by its name or number.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback()
}

// admits compares in a time that says nothing of the token, nor of its length.
func (g *gate) admits(authorization string) bool {
	if g.options.Token == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.options.Token))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// readBody reads the body for what comes after it, and answers what is no JSON or too much of it.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	// The deadline is of the body alone: left in place, it would end the request under a wait.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(slowBody)) // what has none is a test's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	_ = conn.SetReadDeadline(time.Time{})
	var much *http.MaxBytesError
	switch {
	case errors.As(err, &much):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, fmt.Sprintf("A request may have at most %d bytes", maxRequest))
		return nil, false
	case err != nil:
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeParseError, "The body is incomplete")
		return nil, false
	case !json.Valid(body):
		refuseHTTP(w, http.StatusBadRequest, jsonrpc.CodeParseError, "Parse error: the body is not valid JSON")
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.ContentLength = int64(len(body))
	return body, true
}

func refuseHTTP(w http.ResponseWriter, status, code int, says string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(refusalOf(nil, code, says)) // who has gone hears nothing
}
