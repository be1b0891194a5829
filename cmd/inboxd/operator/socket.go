package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"time"

	"inboxd/actors"
	"inboxd/internal/domain/lookup"
	"inboxd/persist"
)

// Node is what an operator's orders are carried out on.
type Node struct {
	System  *actors.System
	Store   *persist.Store
	Stats   func() Stats
	BaseURL string
	Data    string // folder
	Domain  string // of the service
	MXHost  string
	DNS     lookup.ServiceResolver
}

// Socket speaks JSON over HTTP; whoever can open the file (mode 0600) is the operator. It
// does not change once it is open.
type Socket struct {
	Node
	path   string
	server *http.Server
}

// Open listens on path, replacing what a crashed run left there: the lock of the data folder
// is held already, so no other server uses it.
func Open(path string, node Node) (*Socket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the admin socket %s can't be replaced: %w", path, err)
	}
	ln, err := listenPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("the admin socket %s can't be opened: %w", path, err)
	}
	s := &Socket{Node: node, path: path}
	mux := http.NewServeMux()
	mux.HandleFunc("/account/create", handle(s.createAccount))
	mux.HandleFunc("/account/list", handle(s.listAccounts))
	mux.HandleFunc("/account/set-plan", handle(s.setPlan))
	mux.HandleFunc("/dkim/show", handle(s.showDKIM))
	mux.HandleFunc("/account/delete", handle(s.deleteAccount))
	mux.HandleFunc("/account/reset-link", handle(s.resetLink))
	mux.HandleFunc("/key/create", handle(s.createKey))
	mux.HandleFunc("/inbox/list", handle(s.listInboxes))
	mux.HandleFunc("/webhook/list", handle(s.listWebhooks))
	mux.HandleFunc("/dns", handle(s.lookAtDNS))
	mux.HandleFunc("/queue/list", handle(s.listQueue))
	mux.HandleFunc("/queue/retry", handle(s.retryMail))
	mux.HandleFunc("/queue/drop", handle(s.dropMail))
	mux.HandleFunc("/backup", handle(s.backup))
	mux.HandleFunc("/stats", handle(func(context.Context, struct{}) (any, error) { return s.Stats(), nil }))
	mux.HandleFunc("/debug/pprof/", pprof.Index) // curl --unix-socket; never on the public port
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.server.Serve(ln) }() // ends by close
	return s, nil
}

// listenPrivate makes the socket with mode 0600 from its first moment: under a private
// name in the folder, which is 0700 already, then chmod, then rename.
func listenPrivate(path string) (net.Listener, error) {
	temp := path + ".new"
	if err := os.Remove(temp); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: temp, Net: "unix"})
	if err != nil {
		return nil, err
	}
	ln.SetUnlinkOnClose(false)
	if err := os.Chmod(temp, 0o600); err != nil {
		return nil, err
	}
	return ln, os.Rename(temp, path)
}

// Close ends what is under way and takes the file away.
func (s *Socket) Close() {
	_ = s.server.Close()
	_ = os.Remove(s.path)
}

// handle adapts an order to HTTP: a failed one is 400 with the operator's sentence.
func handle[T any](do func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var order T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&order); err != nil {
			http.Error(w, "The order is not understood: "+err.Error(), http.StatusBadRequest)
			return
		}
		result, err := do(r.Context(), order)
		if err != nil {
			http.Error(w, Sentence(err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // the operator went away
	}
}
