package main

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/valyala/fasthttp"
	"github.com/valyala/fasthttp/fasthttpadaptor"

	"inboxd/actors"
	"inboxd/persist"
	"inboxd/smtp"
)

// nodeStats is everything the packages count, for `inboxd admin stats`.
type nodeStats struct {
	Actors  actors.Stats  `json:"actors"`
	SMTP    smtp.Stats    `json:"smtp"`
	Persist persist.Stats `json:"persist"`
}

func (n *node) stats() any {
	return nodeStats{n.system.Stats(), n.mail.Stats(), n.store.Stats()}
}

// metricsHandler answers /metrics in the Prometheus text form; nil when it is off.
func (n *node) metricsHandler() fasthttp.RequestHandler {
	if n.flags.Metrics == "off" {
		return nil
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), &nodeCollector{n})
	return fasthttpadaptor.NewFastHTTPHandler(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
}

// nodeCollector reads the packages' counters when somebody asks. Any goroutine may use it.
type nodeCollector struct{ n *node }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("inboxd_"+name, help, labels, nil)
}

var (
	inboxesResident   = describe("inboxes_resident", "Inboxes in memory.")
	inboxesBytes      = describe("inboxes_resident_bytes", "Approximate bytes of the inboxes in memory.")
	accountsResident  = describe("accounts_resident", "Accounts in memory.")
	principalsCached  = describe("principals_cached", "Credentials in memory.")
	passivationsTotal = describe("passivations_total", "Owners that left memory.")
	commandsInFlight  = describe("commands_in_flight", "Commands admitted and not answered.")
	journalWaiting    = describe("journal_waiting", "Commits whose events wait for the change journal.")
	httpLongPolls     = describe("http_long_polls", "Long polls that wait now.")
	httpStreams       = describe("http_streams", "Event streams now.")
	hooksWaiting      = describe("webhook_deliveries_waiting", "Deliveries of webhooks that wait or are on their way, as far as they are in memory.")
	hooksActive       = describe("webhook_attempts_active", "Attempts of webhooks under way.")
	hooksOldest       = describe("webhook_overdue_seconds", "How long the earliest waiting delivery is overdue.")
	hooksTotal        = describe("webhook_results_total", "Results of webhooks.", "result")
	smtpConnections   = describe("smtp_connections_total", "SMTP connections accepted.")
	smtpRefused       = describe("smtp_connections_refused_total", "SMTP connections turned away at a cap.")
	smtpOpen          = describe("smtp_connections_open", "SMTP connections now.")
	smtpTimeouts      = describe("smtp_timeouts_total", "SMTP sessions ended because the peer said nothing.")
	mailsAccepted     = describe("smtp_mails_accepted_total", "Mails answered with 250 after their commit.")
	mailBytes         = describe("smtp_mail_accepted_bytes_total", "Bytes of accepted mails.")
	smtpBytes         = describe("smtp_received_bytes_total", "Bytes read from SMTP peers.")
	smtpBodyBytes     = describe("smtp_body_bytes", "Bytes that large mails on their way in hold now.")
	commitsTotal      = describe("store_commits_total", "Synced commits, of all runs.")
	commitBytes       = describe("store_commit_bytes_total", "Bytes in synced commits.")
	blobFiles         = describe("store_blob_files", "Blob files.")
	diskFree          = describe("store_disk_free_bytes", "Free space of the data folder's disk.")
	diskFull          = describe("store_full", "1 while new mail is refused for want of space.")
	diskFullTotal     = describe("store_full_total", "Times that new mail was refused for want of space.")
	walBytes          = describe("store_wal_bytes", "Live bytes of the write-ahead log.")
	tableBytes        = describe("store_table_bytes", "Bytes in tables and value files.")
	compactionDebt    = describe("store_compaction_debt_bytes", "Estimated bytes to compact.")
	rejections        = describe("smtp_rejections_total", "Refused SMTP commands and mails.", "reason")
)

// Describe implements prometheus.Collector: the set is fixed by Collect.
func (c *nodeCollector) Describe(out chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, out) }

// Collect implements prometheus.Collector.
func (c *nodeCollector) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	counter := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, v, labels...)
	}
	a := c.n.system.Stats()
	gauge(inboxesResident, float64(a.Inboxes))
	gauge(inboxesBytes, float64(a.InboxBytes))
	gauge(accountsResident, float64(a.Accounts))
	gauge(principalsCached, float64(a.Principals))
	counter(passivationsTotal, float64(a.Passivated))
	gauge(commandsInFlight, float64(a.InFlight))
	gauge(journalWaiting, float64(a.JournalWaiting))
	gauge(hooksWaiting, float64(a.Hooks.Waiting))
	gauge(hooksActive, float64(a.Hooks.Running))
	gauge(hooksOldest, a.Hooks.Lag.Seconds())
	counter(hooksTotal, float64(a.Hooks.Delivered), "succeeded")
	counter(hooksTotal, float64(a.Hooks.Retried), "retrying")
	counter(hooksTotal, float64(a.Hooks.Failed), "failed")
	counter(hooksTotal, float64(a.Hooks.Cancelled), "cancelled")
	polls, streams := c.n.waiting()
	gauge(httpLongPolls, float64(polls))
	gauge(httpStreams, float64(streams))
	collectQueue(a.Queue, gauge, counter)
	m := c.n.mail.Stats()
	counter(smtpConnections, float64(m.Connections))
	counter(smtpRefused, float64(m.Refused))
	gauge(smtpOpen, float64(m.Open))
	counter(smtpTimeouts, float64(m.Timeouts))
	counter(mailsAccepted, float64(m.MailsAccepted))
	counter(mailBytes, float64(m.MailBytesAccepted))
	counter(smtpBytes, float64(m.BytesReceived))
	gauge(smtpBodyBytes, float64(m.BodyBytes))
	for _, reason := range slices.Sorted(maps.Keys(m.RejectionsByReason)) {
		counter(rejections, float64(m.RejectionsByReason[reason]), reason)
	}
	c.collectStore(gauge, counter)
}

// waiting counts requests that wait. The HTTP server is made after the collector.
func (n *node) waiting() (polls, streams int64) {
	if n.web == nil {
		return 0, 0
	}
	return n.web.LongPolls(), n.web.Streams()
}

func (c *nodeCollector) collectStore(gauge func(*prometheus.Desc, float64), counter func(*prometheus.Desc, float64, ...string)) {
	st := c.n.store.Stats()
	full := 0.0
	if st.Full {
		full = 1
	}
	counter(commitsTotal, float64(st.Commits))
	counter(commitBytes, float64(st.CommitBytes))
	gauge(blobFiles, float64(st.Blobs))
	gauge(diskFree, float64(st.DiskFree))
	gauge(diskFull, full)
	counter(diskFullTotal, float64(st.FullCount))
	gauge(walBytes, float64(st.WALBytes))
	gauge(tableBytes, float64(st.TableBytes+st.ValueBytes))
	gauge(compactionDebt, float64(st.CompactionDebt))
}
