package main

import (
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"inboxd/actors"
	"inboxd/actors/mailqueue"
	"inboxd/cmd/inboxd/operator"
	"inboxd/http"
	"inboxd/internal/base/meter"
	"inboxd/internal/base/version"
	"inboxd/persist"
	"inboxd/smtp"
)

func (n *node) collectStats() operator.Stats {
	stats := operator.Stats{Version: version.BuildString(), StartedAt: n.startedAt.UTC().Truncate(time.Second), HTTP: n.web.ServedClasses(), Actors: n.system.ReadStats(), SMTP: n.mail.Stats(), Persist: n.store.ReadStats()}
	if totals, err := n.store.ReadTotals(); err == nil {
		stats.Totals = &totals
	}
	return stats
}

// metricsHandler serves /metrics in the Prometheus text format. It returns nil if metrics are off.
func (n *node) metricsHandler() fasthttp.RequestHandler {
	if n.flags.Metrics == "off" {
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), nodeCollector{n})
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}

// nodeCollector reads the packages' counters when metrics are requested. Any goroutine may use it.
type nodeCollector struct{ n *node }

// Describe implements prometheus.Collector. It describes nothing: Collect sends all metrics
// unchecked.
func (nodeCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c nodeCollector) Collect(out chan<- prometheus.Metric) {
	f := metricsSink(out)
	out <- prometheus.MustNewConstMetric(prometheus.NewDesc("inboxd_build_info", "Always 1: which build this is.", []string{"version", "goversion"}, nil),
		prometheus.GaugeValue, 1, version.BuildString(), runtime.Version())
	f.writeActors(c.n.system.ReadStats())
	f.writeWeb(c.n.web)
	f.writeCertificate(c.n.tls.firstExpiry())
	f.writeGauge("http_long_polls", "Long polls that wait now.", float64(c.n.web.LongPolls()))
	f.writeGauge("http_streams", "Event streams now.", float64(c.n.web.OpenStreams()))
	writeCounters(f, "calendar_feed_fetches_total", "Requests of calendar links, by what came of them.", "result", c.n.web.FeedFetches())
	f.writeCounter("calendar_rule_stops_total", "Recurrence rules that were not followed to their end, for a list or for busy times.", float64(c.n.web.RuleStops()))
	bodies, answers := c.n.web.HeldBytes()
	f.writeGauge("http_held_body_bytes", "Bytes that large bodies hold now.", float64(bodies))
	f.writeGauge("http_held_answer_bytes", "Bytes that large answers hold now, until they are read.", float64(answers))
	f.smtp(c.n.mail.Stats())
	disk := c.n.store.ReadStats()
	f.writeStore(disk)
	if totals, err := c.n.store.ReadTotals(); err == nil {
		f.writeTotals(totals, disk)
	}
}

// metricsSink receives the metrics of one collection.
type metricsSink chan<- prometheus.Metric

func (f metricsSink) writeGauge(name, help string, v float64) {
	f <- prometheus.MustNewConstMetric(prometheus.NewDesc("inboxd_"+name, help, nil, nil), prometheus.GaugeValue, v)
}

func (f metricsSink) writeCounter(name, help string, v float64) {
	f <- prometheus.MustNewConstMetric(prometheus.NewDesc("inboxd_"+name, help, nil, nil), prometheus.CounterValue, v)
}

// writeCounters sends one counter for each value of the label.
func writeCounters[N int64 | uint64](f metricsSink, name, help, label string, by map[string]N) {
	desc := prometheus.NewDesc("inboxd_"+name, help, []string{label}, nil)
	for value, n := range by {
		f <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(n), value)
	}
}

// writeHistogram sends a histogram.
func (f metricsSink) writeHistogram(name, help string, r meter.HistogramSnapshot) {
	f.secondsOf(name, help, nil, r)
}

func (f metricsSink) secondsOf(name, help string, labels []string, r meter.HistogramSnapshot, values ...string) {
	f <- prometheus.MustNewConstHistogram(prometheus.NewDesc("inboxd_"+name, help, labels, nil), r.Count, r.Sum, r.BucketCounts, values...)
}

func (f metricsSink) writeWeb(s *http.Server) {
	requests := prometheus.NewDesc("inboxd_http_requests_total", "HTTP responses, by class of the request and status.", []string{"class", "status"}, nil)
	for _, one := range s.ServedClasses() {
		for status, n := range one.CodeCounts {
			f <- prometheus.MustNewConstMetric(requests, prometheus.CounterValue, float64(n), one.ClassName, strconv.Itoa(status))
		}
		f.secondsOf("http_request_duration_seconds", "From the end of an HTTP request to that of its response; of class wait, as long as the client wished; of class poll, one in sixteen.", []string{"class"}, one.Seconds, one.ClassName)
	}
	f.writeCounter("http_failed_sign_ins_total", "Log-ins with a wrong address or password.", float64(s.FailedSignIns()))
}

// writeCertificate sends when the TLS certificate expires, if there is one.
func (f metricsSink) writeCertificate(ends time.Time) {
	if !ends.IsZero() {
		f.writeGauge("tls_certificate_expiry_timestamp_seconds", "When the TLS certificate expires, as Unix time; by --acme, the first of those given out since the start.", float64(ends.Unix()))
	}
}

func (f metricsSink) writeActors(a actors.SystemStats) {
	f.writeGauge("inboxes_resident", "Inboxes in memory.", float64(a.Inboxes))
	f.writeGauge("inboxes_resident_bytes", "Approximate bytes of the inboxes in memory.", float64(a.InboxBytes))
	f.writeGauge("accounts_resident", "Accounts in memory.", float64(a.Accounts))
	f.writeGauge("principals_cached", "Credentials in memory.", float64(a.Principals))
	f.writeCounter("passivations_total", "Owners that left memory.", float64(a.Passivated))
	f.writeGauge("commands_in_flight", "Commands admitted and not answered.", float64(a.InFlight))
	f.writeGauge("journal_waiting", "Commits whose events wait for the change journal.", float64(a.JournalWaiting))
	writeCounters(f, "meetings_merged_total", "Mails that spoke of a meeting, by what they did to it.", "outcome", a.MergedMeetings)
	writeCounters(f, "meeting_mails_refused_total", "Those that did not count, by reason.", "reason", a.RefusedMeetings)
	writeCounters(f, "calendar_owner_copies_total", "Owner's copies of meetings queued, by what made them due (call, answers), and inboxes whose copies of answers wait for the next day (held).", "result", a.OwnerCopies)
	f.writeCounter("codes_found_total", "One-time codes found in received messages, counted for each inbox that has one.", float64(a.CodesFound))
	f.writeGauge("webhook_deliveries_waiting", "Deliveries of webhooks that wait or are on their way, as far as they are in memory.", float64(a.WebhookStats.Waiting))
	f.writeGauge("webhook_attempts_active", "Attempts of webhooks under way.", float64(a.WebhookStats.Running))
	f.writeGauge("webhook_overdue_seconds", "How long the earliest waiting delivery is overdue.", a.WebhookStats.OldestWait.Seconds())
	writeCounters(f, "webhook_results_total", "Results of webhooks.", "result", map[string]int64{
		"succeeded": a.WebhookStats.Delivered, "retrying": a.WebhookStats.Retried, "failed": a.WebhookStats.Failed, "cancelled": a.WebhookStats.Cancelled,
	})
	f.writeHistogram("webhook_call_duration_seconds", "From the beginning of a call of a webhook to its answer.", a.WebhookStats.CallSeconds)
	f.writeQueue(a.QueueStats)
}

func (f metricsSink) writeQueue(q mailqueue.QueueStats) {
	f.writeGauge("mail_queue_mails", "Mails that are not settled, in memory or not.", float64(q.QueueDepth))
	f.writeGauge("mail_queue_oldest_seconds", "How long ago the oldest of them was accepted, to the minute.", q.OldestAge.Seconds())
	f.writeGauge("mail_queue_memory_mails", "Mails of the queue in memory.", float64(q.Waiting))
	f.writeGauge("mail_queue_attempts_running", "Attempts to deliver under way.", float64(q.Running))
	f.writeGauge("mail_queue_lag_seconds", "How long the oldest due mail has waited for a worker.", q.OldestWait.Seconds())
	f.writeGauge("mail_queue_destinations", "Destinations with mail waiting or tried lately.", float64(q.DestinationCount))
	f.writeHistogram("mail_handover_duration_seconds", "Conversations in which mail was handed to other servers.", q.ConversationSeconds)
	f.writeCounter("mail_attempts_total", "Delivery attempts that were started.", float64(q.Attempts))
	writeCounters(f, "mail_results_total", "What attempts brought, by recipient.", "result", map[string]int64{
		"delivered": q.Delivered, "temporary": q.TemporaryFailures, "permanent": q.PermanentFailures, "bounced": q.Bounced,
	})
}

func (f metricsSink) smtp(mail smtp.Stats) {
	f.writeCounter("smtp_connections_total", "SMTP connections accepted.", float64(mail.Connections))
	f.writeCounter("smtp_connections_refused_total", "SMTP connections turned away at a cap.", float64(mail.RefusedConnections))
	f.writeGauge("smtp_connections_open", "SMTP connections now.", float64(mail.OpenConnections))
	f.writeCounter("smtp_timeouts_total", "SMTP sessions ended because the peer said nothing.", float64(mail.Timeouts))
	f.writeCounter("smtp_mails_paced_total", "Mails that waited up to a second at MAIL, while mail took more than half of a machine that had too much to do.", float64(mail.WaitedTransactions))
	f.writeCounter("smtp_mails_accepted_total", "Messages acknowledged with 250 after their commit.", float64(mail.MailsAccepted))
	f.writeCounter("smtp_mail_accepted_bytes_total", "Bytes of accepted messages.", float64(mail.MailBytesAccepted))
	for _, one := range mail.CommandStats {
		f.secondsOf("smtp_command_duration_seconds", "From the line of an SMTP command, or the end of the body that belongs to it, to its answer.", []string{"command"}, one.Seconds, one.Name)
	}
	f.writeHistogram("smtp_store_duration_seconds", "From the final dot of a message to its commit, or to its refusal.", mail.StoreDurations)
	f.writeCounter("smtp_received_bytes_total", "Bytes read from SMTP peers.", float64(mail.BytesReceived))
	f.writeGauge("smtp_body_bytes", "Bytes that large incoming messages hold now.", float64(mail.BodyBytes))
	writeCounters(f, "smtp_rejections_total", "Refused SMTP commands and messages.", "reason", mail.RejectionsByReason)
}

func (f metricsSink) writeTotals(t persist.FolderTotals, disk persist.StoreStats) {
	f.writeGauge("accounts", "Accounts, those being deleted left out.", float64(t.Accounts))
	f.writeGauge("inboxes", "Live inboxes.", float64(t.Inboxes))
	f.writeGauge("messages", "Messages on disk, received and sent.", float64(t.Messages))
	f.writeGauge("store_disk_bytes", "Bytes of the data folder: log, tables, value files and blobs.", float64(disk.EngineBytes)+float64(t.BlobBytes))
}

func (f metricsSink) writeStore(st persist.StoreStats) {
	full := 0.0
	if st.IsFull {
		full = 1
	}
	f.writeCounter("store_commits_total", "Synced commits, of all runs.", float64(st.SyncedCommits))
	f.writeCounter("store_commit_bytes_total", "Bytes in synced commits.", float64(st.CommitBytes))
	f.writeHistogram("store_commit_duration_seconds", "Synced commits.", st.CommitSeconds)
	f.writeGauge("store_blob_files", "Blob files.", float64(st.BlobFiles))
	f.writeGauge("store_disk_free_bytes", "Free space of the data folder's disk.", float64(st.DiskFree))
	f.writeGauge("store_full", "1 while new mail is refused for want of space.", full)
	f.writeCounter("store_full_total", "Times that new mail began to be refused for lack of space, and messages too large for what was left.", float64(st.FullCount))
	f.writeCounter("store_damaged_items_total", "Messages and inboxes found damaged on disk, each counted once.", float64(st.DamagedItems))
	f.writeCounter("store_damaged_files_total", "Files found damaged on disk, each counted once.", float64(st.DamagedFiles))
	f.writeGauge("store_wal_bytes", "Live bytes of the write-ahead log.", float64(st.WALBytes))
	f.writeGauge("store_table_bytes", "Bytes in tables and value files.", float64(st.TableBytes+st.ValueBytes))
	f.writeGauge("journal_bytes", "About how many bytes of tables the change journals take.", float64(st.JournalBytes))
	f.writeGauge("store_compaction_debt_bytes", "Estimated bytes to compact.", float64(st.CompactionDebt))
}
