package delivery

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// reported returns a report with a text part and recipient fields.
func reported(text, fields string) string {
	return strings.Replace(dsn("Reporting-MTA: dns; mx.far.example\n\n"+fields), "Sorry.\r\n", text+"\n", 1)
}

// TestLayouts reads reports in the layouts of many servers. For each recipient in order, it expects
// a hard failure (the address is suppressed), a soft one or something else, and the text for the
// sender.
func TestLayouts(t *testing.T) {
	const failed = "Action: failed\nFinal-Recipient: rfc822;bob@far.example\n"
	exim := func(reason string) string {
		return "This message was created automatically by mail delivery software.\n\nThe following address(es) failed:\n\n  bob@far.example\n" + reason + "\n"
	}
	smtp := func(status, diagnostic string) string {
		return reported("See below.", failed+"Status: "+status+"\nRemote-MTA: dns; mx\nDiagnostic-Code: smtp; "+diagnostic+"\n")
	}
	for name, c := range map[string]struct {
		raw  string
		want []string
	}{
		"exim, unrouteable": {reported(exim("    Unrouteable address"), failed+"Status: 5.0.0\n"), []string{"hard Unrouteable address"}},
		"exim, full":        {reported(exim("    (generated from sales@far.example)\n    mailbox is full: retry timeout exceeded"), failed+"Status: 5.0.0\n"), []string{"soft mailbox is full: retry timeout exceeded"}},
		"exim, by its old name": {reported("failed:\n\n  bob@near.example\n    (ultimately generated from bob@far.example)\n    all relevant MX records point to non-existent hosts\n", failed+"Status: 5.0.0\n"),
			[]string{"hard all relevant MX records point to non-existent hosts"}},
		"exim, failing for long": {reported(exim("    all hosts for 'far.example' have been failing for a long time (and retry time not reached)"), failed+"Status: 5.0.0\n"),
			[]string{"soft all hosts for 'far.example' have been failing for a long time (and retry time not reached)"}},
		"exim, nothing": {reported(exim(""), failed+"Status: 5.0.0\n"), []string{"soft The message bounced without a reason"}},
		"exim, two": {reported("failed:\n\n  bob@far.example\n    Unknown user\n  Ann@far.example\n    host mx.far.example [192.0.2.9]\n    SMTP error from remote mail server after RCPT TO:<ann@far.example>:\n    552 5.2.2 No room\n",
			failed+"Status: 5.0.0\n\nAction: failed\nFinal-Recipient: rfc822;ann@far.example\nStatus: 5.0.0\n"),
			[]string{"hard Unknown user", "soft host mx.far.example [192.0.2.9] SMTP error from remote mail server after RCPT TO:<ann@far.example>: 552 5.2.2 No room"}},
		"exim, warning": {reported("has not yet been delivered:\n\n  bob@far.example\n    Delay reason: mailbox is full\n", "Action: delayed\nFinal-Recipient: rfc822;bob@far.example\nStatus: 4.0.0\n"), []string{"delayed"}},

		"opensmtpd, unknown":      {reported("for the list:\n\nbob@far.example: 550 Invalid recipient\n", failed+"Status: 5.0.0\n"), []string{"hard 550 Invalid recipient"}},
		"opensmtpd, greylisted":   {reported("for the list:\n\nbob@far.example: 451 4.7.1 Greylisted\n", failed+"Status: 5.0.0\n"), []string{"soft 451 4.7.1 Greylisted"}},
		"opensmtpd, expired":      {reported("is delayed:\n\nbob@far.example: Envelope expired\n", "Final-Recipient: rfc822; bob@far.example\nAction: delayed\nStatus: 4.4.7\n"), []string{"soft 4.4.7 Envelope expired"}},
		"opensmtpd, only delayed": {reported("is delayed:\n\nbob@far.example: 421 Busy\n", "Final-Recipient: rfc822; bob@far.example\nAction: delayed\nStatus: 4.4.7\n"), []string{"delayed"}},
		"a server that goes on": {reported("is delayed", "Final-Recipient: rfc822; bob@far.example\nAction: delayed\nStatus: 4.4.7\nWill-Retry-Until: Fri, 4 Dec 2026 19:31:15 +0000\nDiagnostic-Code: smtp; 400 4.4.7 the first time-out expired\n"),
			[]string{"delayed"}},
		"opensmtpd, two": {reported("list:\n\nann@far.example: 550 5.1.1 Gone\nbob@far.example: 554 5.7.1 Not wanted\n", failed+"Status: 5.0.0\n\nFinal-Recipient: rfc822; ann@far.example\nAction: failed\nStatus: 5.0.0\n"),
			[]string{"soft 554 5.7.1 Not wanted", "hard 550 5.1.1 Gone"}},

		"postfix, local spool": {reported("<bob@far.example>: delivery to the spool failed: error\n    writing: Disk quota exceeded\n", failed+"Status: 5.2.2\nDiagnostic-Code: x-unix; input/output error\n"),
			[]string{"soft 5.2.2 delivery to the spool failed: error writing: Disk quota exceeded"}},
		"postfix, forwarded": {reported("<x@next.example> (expanded from <bob@far.example>): host mx.next.example[192.0.2.1] said: 550\n    5.1.1 No (in reply to RCPT TO command)\n",
			"Final-Recipient: rfc822; x@next.example\nOriginal-Recipient: rfc822;bob@far.example\nAction: failed\nStatus: 5.1.1\n"),
			[]string{"hard host mx.next.example[192.0.2.1] said: 550 5.1.1 No (in reply to RCPT TO command)"}},
		"postfix, no domain": {reported("", failed+"Status: 5.4.4\nDiagnostic-Code: X-Postfix; Host or domain name not found. Name service error for\n    name=far.example type=A: Host not found\n"), []string{"hard 5.4.4 Host or domain name not found. Name service error for name=far.example type=A: Host not found"}},
		"postfix, loop":      {smtp("5.4.6", "554 5.4.6 Too many hops"), []string{"soft 554 5.4.6 Too many hops"}},
		"sendmail, blocked":  {smtp("5.1.1", "550 Blocked, see https://bl.example"), []string{"soft 5.1.1 550 Blocked, see https://bl.example"}},
		"sendmail, expired":  {reported("bob@far.example... Deferred: No answer\n", failed+"Status: 4.4.7\n"), []string{"soft 4.4.7 Deferred: No answer"}},
		"sendmail, transcript": {reported("   ----- The following addresses had permanent fatal errors -----\n<bob@far.example>\n    (reason: 553 sorry, no mailbox here by that name)\n", failed+"Status: 5.0.0\n"),
			[]string{"hard 553 sorry, no mailbox here by that name"}},
		"chasquid": {smtp("5.0.0", "MAIL+RCPT 550 5.2.1 Mailbox closed"), []string{"hard MAIL+RCPT 550 5.2.1 Mailbox closed"}},

		"postfix, relay":       {smtp("5.1.1", "550 5.1.1 <bob@far.example>: Recipient address rejected: User unknown in relay recipient table"), []string{"hard 550 5.1.1 <bob@far.example>: Recipient address rejected: User unknown in relay recipient table"}},
		"words in names":       {smtp("5.1.1", "550 5.1.1 host relay.spam-quota.example: <content@policy.example>: no such user, see https://block.example/full/rate"), []string{"hard 550 5.1.1 host relay.spam-quota.example: <content@policy.example>: no such user, see https://block.example/full/rate"}},
		"full by a wrong code": {smtp("5.1.1", "550 5.1.1 The mailbox of this user is full"), []string{"soft 550 5.1.1 The mailbox of this user is full"}},

		"exchange, unknown":  {smtp("5.1.10", "550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bob@far.example not found by SMTP address lookup"), []string{"hard 550 5.1.10 RESOLVER.ADR.RecipientNotFound; Recipient bob@far.example not found by SMTP address lookup"}},
		"exchange, edge":     {smtp("5.4.1", "550 5.4.1 Recipient address rejected: Access denied"), []string{"hard 550 5.4.1 Recipient address rejected: Access denied"}},
		"exchange, rule":     {smtp("5.7.1", "550 5.7.1 TRANSPORT.RULES.RejectMessage"), []string{"soft 550 5.7.1 TRANSPORT.RULES.RejectMessage"}},
		"exchange, hops":     {smtp("5.4.14", "554 5.4.14 Hop count exceeded - possible mail loop"), []string{"soft 554 5.4.14 Hop count exceeded - possible mail loop"}},
		"exchange, over":     {smtp("5.4.300", "550 5.4.300 Message expired"), []string{"soft 550 5.4.300 Message expired"}},
		"exchange, next hop": {smtp("5.0.350", "550 5.0.350 Remote server returned an error"), []string{"hard 550 5.0.350 Remote server returned an error"}},
		"exchange, in German": {strings.Replace(reported("Ihre Nachricht hat einige oder alle Empfänger nicht erreicht.", failed+"Status: 5.2.2\nDiagnostic-Code: smtp;554 5.2.2 mailbox full; STOREDRV.Deliver: Postfach voll\n"), "text/plain", "text/plain; charset=utf-8", 1),
			[]string{"soft 554 5.2.2 mailbox full; STOREDRV.Deliver: Postfach voll"}},
		"gmail, unknown": {smtp("5.1.1", "550-5.1.1 The email account that you tried to reach does not\n 550-5.1.1 exist. Please check it for unnecessary spaces. For more information, go to\n 550 5.1.1 https://support.example/NoSuchUser - gsmtp"),
			[]string{"hard 550-5.1.1 The email account that you tried to reach does not 550-5.1.1 exist. Please check it for unnecessary spaces. For more information, go to 550 5.1.1 https://support.example/NoSuchUser - gsmtp"}},
		"gmail, quota":                 {smtp("5.2.2", "552-5.2.2 The recipient's inbox is out of storage space"), []string{"soft 552-5.2.2 The recipient's inbox is out of storage space"}},
		"gmail, DMARC":                 {smtp("5.7.26", "550-5.7.26 Unauthenticated email is not accepted"), []string{"soft 550-5.7.26 Unauthenticated email is not accepted"}},
		"gmail, rate":                  {smtp("5.2.1", "550-5.2.1 The user you are trying to contact is receiving mail at a rate that is too high"), []string{"soft 550-5.2.1 The user you are trying to contact is receiving mail at a rate that is too high"}},
		"SES, expired":                 {smtp("4.4.7", "554 4.4.7 Message expired: unable to deliver in 840 minutes"), []string{"soft 554 4.4.7 Message expired: unable to deliver in 840 minutes"}},
		"mimecast, policy":             {smtp("5.0.0", "550 Administrative prohibition - envelope blocked"), []string{"soft 550 Administrative prohibition - envelope blocked"}},
		"mimecast, unknown":            {smtp("5.0.0", "550 Invalid Recipient [abc]"), []string{"hard 550 Invalid Recipient [abc]"}},
		"zimbra, over quota":           {smtp("4.2.2", "452 4.2.2 Over quota"), []string{"soft 452 4.2.2 Over quota"}},
		"domino":                       {smtp("5.0.0", "User bob (bob@far.example) not listed in Domino Directory"), []string{"hard User bob (bob@far.example) not listed in Domino Directory"}},
		"yahoo":                        {smtp("5.0.0", "554 delivery error: dd This user doesn't have a far.example account"), []string{"hard 554 delivery error: dd This user doesn't have a far.example account"}},
		"only 554":                     {smtp("5.0.0", "554 Transaction failed"), []string{"soft 554 Transaction failed"}},
		"accepts no mail":              {smtp("5.0.0", "521 5.0.0 Host does not accept mail"), []string{"hard 521 5.0.0 Host does not accept mail"}},
		"bad sender":                   {smtp("5.1.8", "550 5.1.8 Sender address rejected: Domain not found"), []string{"soft 550 5.1.8 Sender address rejected: Domain not found"}},
		"the last server knows better": {smtp("5.1.1", "554 5.7.1 Not today"), []string{"soft 554 5.7.1 Not today"}},
		"a code alone":                 {smtp("5.1.1", "550"), []string{"hard The mailbox does not exist (5.1.1)"}},
		"a code twice":                 {smtp("5.7.1", "550 5.7.1"), []string{"soft The message was refused by a policy (5.7.1)"}},
		"no codes, French":             {reported("<bob@far.example>: utilisateur inconnu\n", failed), []string{"hard utilisateur inconnu"}},
		"no codes, Japanese":           {strings.Replace(reported("<bob@far.example>:\n指定されたユーザーは存在しません\n", failed), "text/plain", "text/plain; charset=utf-8", 1), []string{"hard 指定されたユーザーは存在しません"}},
		"no codes, Italian":            {reported("<bob@far.example>: la casella sconosciuta? no, piena\n", failed), []string{"soft la casella sconosciuta? no, piena"}},
		"escaped original":             {reported("", "Original-Recipient: utf-8; j\\x{FC}rgen+2Bx@far.example\nFinal-Recipient: rfc822; q@next.example\nAction: failed\nStatus: 5.1.1\n"), []string{"hard The mailbox does not exist (5.1.1)"}},
	} {
		r, _ := ReadReport([]byte(c.raw))
		var got []string
		for _, p := range r.Recipients {
			switch {
			case p.Action == ActionDelayed:
				got = append(got, "delayed")
			case p.Action == ActionFailed && p.IsHard():
				got = append(got, "hard "+p.Reason())
			case p.Action == ActionFailed:
				got = append(got, "soft "+p.Reason())
			default:
				got = append(got, "other")
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
		if name == "escaped original" && r.Recipients[0].RecipientNames()[1] != "jürgen+x@far.example" {
			t.Errorf("%q", r.Recipients[0].RecipientNames())
		}
	}
}

// TestReportsOfServers reads reports written by real mail servers, if they are available. It checks
// the result for each recipient and the text for the sender.
func TestReportsOfServers(t *testing.T) {
	dir := os.Getenv("INBOX_CASES")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "cases")
	}
	table, err := os.ReadFile(filepath.Join(dir, "dsn", "labels.tsv"))
	if err != nil {
		t.Skipf("no reports of servers: set INBOX_CASES to the folder of the cases (%v)", err)
	}
	rows := strings.Split(strings.Trim(string(table), "\n"), "\n")[1:]
	alone := map[string]int{}
	for _, row := range rows {
		alone[strings.Split(row, "\t")[0]]++
	}
	for _, row := range rows {
		f := strings.Split(row, "\t")
		raw, err := os.ReadFile(filepath.Join(dir, "dsn", f[0]))
		if err != nil {
			t.Fatal(err)
		}
		r, ok := ReadReport(raw)
		if !ok {
			t.Errorf("%s is no report", f[0])
			continue
		}
		status, suppress, says := "sent", "no", ""
		for _, p := range r.Recipients {
			if p.Action != ActionFailed || alone[f[0]] > 1 && !strings.EqualFold(p.Recipient, f[1]) {
				continue
			}
			if status, says = "bounced", p.Reason(); p.IsHard() {
				suppress = "yes"
			}
		}
		if f[2] != "either" && status != f[2] || f[3] != "either" && suppress != f[3] || !strings.Contains(says, f[5]) {
			t.Errorf("%s: %s suppressed %s %q", row, status, suppress, says)
		}
	}
}
