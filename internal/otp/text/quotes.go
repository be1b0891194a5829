package text

import "bytes"

// verdict says whose words a line is.
type verdict uint8

const (
	own    verdict = iota // the sender's
	quoted                // an older mail's; the next line may be the sender's again
	rest                  // an older mail's, and so is all that follows
)

// quotes finds the older mail that a mail carries: lines marked with ">", what follows
// "On ... wrote:", and what follows the head of a mail as Outlook quotes it.
type quotes struct {
	forward bool // an older mail was passed on on purpose: its head ends nothing
	from    bool // the line before named a sender, as the head of a quoted mail does
}

func (q *quotes) judge(p *Page, start, end int) verdict {
	l := p.Lower[start:end]
	from := q.from
	q.from = false
	switch {
	case l[0] == '>', l[0] == '|' && len(l) > 1 && l[1] == ' ':
		return quoted
	case l[0] == '-' && len(l) > 6 && len(l) <= 120 && forwarded.In(l):
		q.forward = true
	case !q.forward && (l[0] == '-' && separator(l) || from && fieldLine(l, sentFields)):
		return rest
	case l[len(l)-1] == ':' && attribution(p.Lower, start, end):
		if marked(p.Lower, end) {
			return quoted // the marks say how far it goes
		}
		return rest
	}
	q.from = fieldLine(l, fromFields) && bytes.IndexByte(l, '@') >= 0
	return own
}

// separator tells "-----Original Message-----" in the languages of the big mail programs.
func separator(l []byte) bool {
	if len(l) < 6 || l[1] != '-' || len(l) > 120 {
		return false
	}
	return originals.In(l)
}

// attribution tells the line above a quotation: "On 2 March 2026, A <a@b> wrote:". It may
// be broken in two. A date or an address must stand in it, or it is somebody's prose.
func attribution(b []byte, start, end int) bool {
	l := b[start:end]
	if len(l) > 300 || !wrotes.In(l) {
		return false
	}
	if dated(l) {
		return true
	}
	if start < 2 {
		return false
	}
	above := bytes.LastIndexByte(b[:start-1], '\n') + 1
	return start-above <= 200 && dated(b[above:start])
}

func dated(l []byte) bool {
	digits := 0
	for _, c := range l {
		if c == '@' {
			return true
		}
		if IsDigit(c) {
			digits++
		}
	}
	return digits >= 3
}

// marked tells whether the next line with text in it starts with a quotation mark.
func marked(b []byte, i int) bool {
	for i < len(b) && b[i] == '\n' {
		i++
	}
	return i < len(b) && b[i] == '>'
}

// fieldLine tells a line that starts with one of the field names and a colon.
func fieldLine(l []byte, fields [][]byte) bool {
	if bytes.IndexByte(l[:min(len(l), 32)], ':') < 0 {
		return false
	}
	l = bytes.TrimLeft(l, "* ")
	for _, f := range fields {
		if len(l) > len(f) && l[0] == f[0] && bytes.HasPrefix(l, f) {
			r := bytes.TrimLeft(l[len(f):], "* ")
			if len(r) > 0 && r[0] == ':' {
				return true
			}
		}
	}
	return false
}

var (
	originals = FoldPhrases("original message", "original appointment", "ursprüngliche nachricht", "originalnachricht",
		"message d'origine", "message original", "mensaje original", "mensagem original", "messaggio originale",
		"oorspronkelijk bericht", "oprindelig meddelelse", "opprinnelig melding", "originalmeddelande", "ursprungligt meddelande",
		"alkuperäinen viesti", "oryginalna wiadomość", "wiadomość oryginalna", "původní zpráva", "pôvodná správa", "eredeti üzenet",
		"mesaj original", "orijinal mesaj", "özgün ileti", "исходное сообщение", "оригинальное сообщение", "початкове повідомлення",
		"原始邮件", "原始郵件", "原始信件", "元のメッセージ", "원본 메시지", "원본 메일", "الرسالة الأصلية", "הודעה מקורית", "thư gốc", "pesan asli")
	forwarded = FoldPhrases("forwarded message", "weitergeleitete nachricht", "message transféré", "mensaje reenviado",
		"mensagem encaminhada", "messaggio inoltrato", "doorgestuurd bericht", "пересылаемое сообщение", "转发的邮件", "転送")
	wrotes = FoldPhrases("wrote", "schrieb", "a écrit", "escribió", "escreveu", "ha scritto", "schreef", "skrev", "kirjoitti",
		"napisał", "napsal", "napísal", "írta", "a scris", "yazdı", "пишет", "написал", "написав", "пише", "έγραψε", "va escriure",
		"写道", "寫道", "書きました", "のメール", "님이 작성", "작성:", "كتب", "כתב", "đã viết", "menulis", "เขียนว่า", "ने लिखा")
	fromFields = FoldList("from", "von", "de", "da", "van", "fra", "från", "lähettäjä", "od", "feladó", "de la", "kimden",
		"gönderen", "от", "від", "από", "发件人", "寄件者", "差出人", "보낸 사람", "من", "מאת", "từ", "dari")
	sentFields = FoldList("sent", "date", "gesendet", "datum", "envoyé", "enviado", "enviada el", "fecha", "data", "inviato",
		"verzonden", "sendt", "dato", "skickat", "lähetetty", "wysłano", "odesláno", "odoslané", "elküldve", "trimis", "gönderildi",
		"tarih", "отправлено", "дата", "надіслано", "στάλθηκε", "发送时间", "日期", "寄件日期", "送信日時", "日時", "보낸 날짜", "날짜",
		"تاريخ", "נשלח", "ngày", "dikirim", "to", "an", "to", "subject", "betreff")
)
