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

// EndpointPath is the path of the tools over HTTP.
const EndpointPath = "/mcp"

const (
	// maxRequest limits the body of a request, in bytes, and slowBody the time it may take to
	// arrive.
	maxRequest = 1 << 20
	slowBody   = 30 * time.Second
)

// HTTPOptions configure who may call.
type HTTPOptions struct {
	// ListenAddress is the address the server listens on, HOST:PORT. The Host header of a request must
	// name it or a loopback address.
	ListenAddress string
	// BearerToken is the bearer token that requests must send (RFC 6750); empty: none is required.
	BearerToken string
}

// Handler serves clients over streamable HTTP. It is stateless, without sessions (ADR 0071).
func (s *Server) Handler(o HTTPOptions) http.Handler {
	streams := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.mcp }, &mcp.StreamableHTTPOptions{
		Stateless:                    true,
		PropagateRequestCancellation: true,
		DisableLocalhostProtection:   true, // gate is stricter
		MaxRequestBodyBytes:          maxRequest,
	})
	return &requestGate{httpOptions: o, streamHandler: streams}
}

// requestGate passes on the requests that are allowed.
type requestGate struct {
	httpOptions   HTTPOptions
	streamHandler http.Handler
}

// ServeHTTP implements http.Handler.
func (g *requestGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	coding := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	switch origin := r.Header.Get("Origin"); {
	case !g.allowsHost(r.Host):
		refuseHTTP(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Unknown host %.100q. Use the host name that --http names, or a loopback address", r.Host))
	case origin != "" && !g.isOwnOrigin(origin):
		refuseHTTP(w, http.StatusForbidden, jsonrpc.CodeInvalidRequest, fmt.Sprintf("Web pages of the origin %.100q may not call this server", origin))
	case !g.isAuthorized(r.Header.Get("Authorization")):
		w.Header().Set("WWW-Authenticate", `Bearer realm="inbox-mcp"`)
		refuseHTTP(w, http.StatusUnauthorized, jsonrpc.CodeInvalidRequest, "A bearer token is required: send Authorization: Bearer TOKEN with the token of --http-token")
	case r.URL.Path != EndpointPath:
		refuseHTTP(w, http.StatusNotFound, jsonrpc.CodeInvalidRequest, "Unknown path. The only path is "+EndpointPath)
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", http.MethodPost)
		refuseHTTP(w, http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "Send messages with POST. Sessions and standalone streams are not supported")
	case coding != "" && !strings.EqualFold(coding, "identity"): // RFC 9110 section 15.5.16
		w.Header().Set("Accept-Encoding", "identity")
		refuseHTTP(w, http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, fmt.Sprintf("The content coding %.64q is not supported. Send the body without Content-Encoding", coding))
	default:
		if body, ok := readBody(w, r); ok && g.checkRevision(w, r, body) {
			g.streamHandler.ServeHTTP(&errorWriter{ResponseWriter: w, id: idOf(body)}, r.WithContext(attachRequest(r.Context())))
		}
	}
}

// checkRevision responds to requests of an unknown revision of the protocol.
func (g *requestGate) checkRevision(w http.ResponseWriter, r *http.Request, body []byte) bool {
	asked := r.Header.Get("Mcp-Protocol-Version")
	if asked == "" || slices.Contains(mcp.SupportedProtocolVersions(), asked) {
		return true
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_, _ = w.Write(unsupportedRevision(idOf(body), asked)) // fails only if the client disconnected
	return false
}

// errorWriter converts errors of the SDK, which are plain text, to the form of the protocol.
type errorWriter struct {
	http.ResponseWriter
	id        any
	isRefused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *errorWriter) WriteHeader(status int) {
	if w.isRefused = status >= 400 && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); w.isRefused {
		w.Header().Set("Content-Type", "application/json")
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *errorWriter) Write(b []byte) (int, error) {
	if !w.isRefused {
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
func (w *errorWriter) Flush() { _ = http.NewResponseController(w.ResponseWriter).Flush() } // best effort

// Unwrap implements the interface of http.ResponseController.
func (w *errorWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// allowsHost reports whether a host, with or without a port, is loopback or the one that the server
// listens on. If that is all addresses, any IP address is allowed: a hostile page can only make
// names resolve to this machine (DNS rebinding).
func (g *requestGate) allowsHost(host string) bool {
	name := hostname(host)
	if Loopback(name) {
		return true
	}
	own := hostname(g.httpOptions.ListenAddress)
	if at, err := netip.ParseAddr(own); own == "" || err == nil && at.IsUnspecified() {
		_, err := netip.ParseAddr(name)
		return err == nil
	}
	return strings.EqualFold(name, own)
}

func (g *requestGate) isOwnOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && g.allowsHost(u.Host)
}

// hostname returns a host without its port and brackets.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

// Loopback reports whether host is a loopback address or "localhost".
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	at, err := netip.ParseAddr(host)
	return err == nil && at.Unmap().IsLoopback()
}

// isAuthorized checks the token in a time that does not depend on the token or its length.
func (g *requestGate) isAuthorized(authorization string) bool {
	if g.httpOptions.BearerToken == "" {
		return true
	}
	scheme, token, _ := strings.Cut(authorization, " ")
	given, want := sha256.Sum256([]byte(strings.TrimSpace(token))), sha256.Sum256([]byte(g.httpOptions.BearerToken))
	return subtle.ConstantTimeCompare(given[:], want[:]) == 1 && strings.EqualFold(scheme, "Bearer")
}

// readBody reads the body so that it can be read again. It responds to a body that is not JSON or
// is too large.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	// The deadline is for the body only. If it stayed, it would end the request during a wait.
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(slowBody)) // fails only in tests, whose writers have no deadline
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
	_, _ = w.Write(refusalOf(nil, code, says)) // fails only if the client disconnected
}
