// Package mailqueue delivers the messages that inboxes send: to other servers through a courier,
// and to inboxes of this node. The queue is the store's due index. internal/core/scheduler decides
// what is attempted when; this package is the shell around it: workers, signing, and commits of the
// outcomes (ADR 0015). It does not know how inboxes run or how a message is transferred.
package mailqueue
