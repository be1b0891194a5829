package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"slices"
	"time"

	"inboxd/actors"
	"inboxd/internal/account"
	"inboxd/persist"
)

// The admin socket speaks JSON over HTTP; whoever can open the file (mode 0600) is the
// operator. These are its wire shapes.
type (
	createOrder struct {
		Email    string `json:"email"`
		Password string `json:"password"`
		Plan     string `json:"plan,omitempty"`
	}
	planOrder struct {
		Email string `json:"email"`
		Plan  string `json:"plan"`
	}
	adminAccount struct {
		ID        string    `json:"id"`
		Email     string    `json:"email"`
		Plan      string    `json:"plan"`
		Inboxes   int64     `json:"inboxes"`
		CreatedAt time.Time `json:"created_at"`
	}
)

func adminAccountOf(p account.Profile) adminAccount {
	return adminAccount{p.ID.String(), p.Email, string(p.Plan), p.Inboxes, p.CreatedAt}
}

// adminSocket serves the operator. It does not change once it is open.
type adminSocket struct {
	path    string
	system  *actors.System
	stats   func() any
	baseURL string
	data    string // folder
	store   *persist.Store
	server  *http.Server
}

// openAdminSocket listens on path, replacing what a crashed run left there: the lock of
// the data folder is held already, so no other server uses it.
func openAdminSocket(path string, a adminSocket) (*adminSocket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("the admin socket %s can't be replaced: %w", path, err)
	}
	ln, err := listenPrivate(path)
	if err != nil {
		return nil, fmt.Errorf("the admin socket %s can't be opened: %w", path, err)
	}
	a.path = path
	mux := http.NewServeMux()
	mux.HandleFunc("/account/create", handle(a.createAccount))
	mux.HandleFunc("/account/list", handle(a.listAccounts))
	mux.HandleFunc("/account/set-plan", handle(a.setPlan))
	mux.HandleFunc("/dkim/show", handle(a.showDKIM))
	mux.HandleFunc("/account/delete", handle(a.deleteAccount))
	mux.HandleFunc("/account/reset-link", handle(a.resetLink))
	mux.HandleFunc("/key/create", handle(a.createKey))
	mux.HandleFunc("/queue/list", handle(a.listQueue))
	mux.HandleFunc("/queue/retry", handle(a.retryMail))
	mux.HandleFunc("/queue/drop", handle(a.dropMail))
	mux.HandleFunc("/backup", handle(a.backup))
	mux.HandleFunc("/stats", handle(func(context.Context, struct{}) (any, error) { return a.stats(), nil }))
	mux.HandleFunc("/debug/pprof/", pprof.Index) // curl --unix-socket; never on the public port
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	a.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() { _ = a.server.Serve(ln) }() // ends by close
	return &a, nil
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

func (a *adminSocket) close() {
	_ = a.server.Close()
	_ = os.Remove(a.path)
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
			http.Error(w, sentence(err), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result) // the operator went away
	}
}

func (a *adminSocket) createAccount(ctx context.Context, order createOrder) (any, error) {
	plan := a.system.NewPlan
	if order.Plan != "" {
		var err error
		if plan, err = account.ParsePlan(order.Plan); err != nil {
			return nil, err
		}
	}
	profile, err := a.system.OpenAccount(ctx, order.Email, order.Password, plan)
	if err != nil {
		return nil, err
	}
	return adminAccountOf(profile), nil
}

// listAccounts lists the oldest first.
func (a *adminSocket) listAccounts(context.Context, struct{}) (any, error) {
	out := []adminAccount{}
	var after account.ID
	for {
		page, err := a.system.Profiles(after, 1000)
		if err != nil || len(page) == 0 {
			slices.SortFunc(out, func(a, b adminAccount) int { return a.CreatedAt.Compare(b.CreatedAt) })
			return out, err
		}
		for _, p := range page {
			out = append(out, adminAccountOf(p))
		}
		after = page[len(page)-1].ID
	}
}

func (a *adminSocket) setPlan(ctx context.Context, order planOrder) (any, error) {
	plan, err := account.ParsePlan(order.Plan)
	if err != nil {
		return nil, err
	}
	return struct{}{}, a.system.SetPlan(ctx, order.Email, plan)
}
