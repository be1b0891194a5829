// Package mailqueue hands the mail that inboxes send to its recipients: to other servers
// through a courier, and to inboxes of this node. The queue is the store's due index;
// internal/core/scheduler decides what is tried when, and this package is the shell around it:
// workers, signing, commits of what an attempt brought (ADR 0015). It refuses to know how
// inboxes are run and how mail is handed over.
package mailqueue
