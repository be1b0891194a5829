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
	"syscall"
	"time"

	"inboxd/actors"
	"inboxd/internal/core/domain/lookup"
	"inboxd/persist"
)

// AdminTarget is the server that executes the operator's commands.
type AdminTarget struct {
	System        *actors.System
	Store         *persist.Store
	ReadStats     func() Stats
	BaseURL       string
	DataFolder    string // folder
	ServiceDomain string // of the service
	MXHost        string
	DNS           lookup.ServiceResolver
}

// Socket is a server of JSON over HTTP. Anybody who can open the file (mode 0600) is the operator. It
// does not change after OpenSocket.
type Socket struct {
	AdminTarget
	socketPath string
	fileInfo   os.FileInfo // of path when we created it
	httpServer *http.Server
}

// OpenSocket listens on path. It replaces a socket that a crashed run left there.
func OpenSocket(path string, node AdminTarget) (*Socket, error) {
	ln, err := listenPrivate(path)
	if err != nil {
		return nil, err
	}
	file, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	s := &Socket{AdminTarget: node, socketPath: path, fileInfo: file}
	mux := http.NewServeMux()
	mux.HandleFunc("/account/create", handleOrder(s.createAccount))
	mux.HandleFunc("/account/list", handleOrder(s.listAccounts))
	mux.HandleFunc("/account/set-plan", handleOrder(s.setPlan))
	mux.HandleFunc("/dkim/show", handleOrder(s.showDKIM))
	mux.HandleFunc("/account/delete", handleOrder(s.deleteAccount))
	mux.HandleFunc("/account/reset-link", handleOrder(s.resetLink))
	mux.HandleFunc("/key/create", handleOrder(s.createKey))
	mux.HandleFunc("/inbox/list", handleOrder(s.listInboxes))
	mux.HandleFunc("/webhook/list", handleOrder(s.listWebhooks))
	mux.HandleFunc("/dns", handleOrder(s.lookAtDNS))
	mux.HandleFunc("/queue/list", handleOrder(s.listQueue))
	mux.HandleFunc("/queue/retry", handleOrder(s.retryMail))
	mux.HandleFunc("/queue/drop", handleOrder(s.dropMail))
	mux.HandleFunc("/queue/release", handleOrder(s.releaseQueue))
	mux.HandleFunc("/backup", handleOrder(s.makeBackup))
	mux.HandleFunc("/stats", handleOrder(func(context.Context, struct{}) (any, error) { return s.ReadStats(), nil }))
	mux.HandleFunc("/debug/pprof/", pprof.Index) // for curl --unix-socket; never on the public port
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s.httpServer = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = s.httpServer.Serve(ln) }() // Close ends it
	return s, nil
}

// listenPrivate creates the socket with mode 0600. Until then, the process's umask of 077 keeps
// other users out.
func listenPrivate(path string) (net.Listener, error) {
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if err := makeRoom(path); err != nil {
		return nil, err
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("the admin socket %s cannot be opened: %w", path, err)
	}
	ln.SetUnlinkOnClose(false) // Close removes the file, and only if it is ours
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	return ln, nil
}

// longestPath is the system's limit for a socket's path: sun_path without its final zero, unix(7).
const longestPath = len(syscall.RawSockaddrUnix{}.Path) - 1

// checkPath explains a path that is too long; the system would only report an invalid argument.
func checkPath(path string) error {
	if len(path) <= longestPath {
		return nil
	}
	return fmt.Errorf("the path of the admin socket is too long (%d bytes, the limit is %d). Choose a shorter one with --admin-socket: %s", len(path), longestPath, path)
}

// makeRoom removes the socket of a crashed run. It removes nothing else: --admin-socket may name
// another file by mistake, or the socket of a running program.
func makeRoom(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("the admin socket %s cannot be opened: %w", path, err)
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("%s exists and is not a socket, so it is not replaced. Choose another path with --admin-socket", path)
	case !isAbandoned(path):
		return fmt.Errorf("another program listens at %s. Choose another path with --admin-socket", path)
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("the admin socket %s cannot be replaced: %w", path, err)
	}
	return nil
}

// isAbandoned reports whether nothing listens at a socket any more.
func isAbandoned(path string) bool {
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close()
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// Close closes open connections and removes the socket file. It does not remove the file if it is
// not ours: the folder may have been cleared and another server started there.
func (s *Socket) Close() {
	// Our open listener keeps the inode from being reused.
	if now, err := os.Lstat(s.socketPath); err == nil && os.SameFile(now, s.fileInfo) {
		_ = os.Remove(s.socketPath)
	}
	_ = s.httpServer.Close()
}

// handleOrder adapts a function to HTTP. An error becomes 400 with a sentence for the operator.
func handleOrder[T any](do func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var order T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10)).Decode(&order); err != nil {
			http.Error(w, "The command could not be parsed: "+err.Error(), http.StatusBadRequest)
			return
		}
		result, err := do(r.Context(), order)
		if err != nil {
			http.Error(w, ErrorSentence(err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // fails only if the client disconnected
	}
}
