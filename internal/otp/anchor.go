package otp

import "strings"

// saying is what the text of a link promises.
type saying uint8

const (
	saysNothing saying = iota
	saysConfirm        // "Verify my email", "Sign in"
	saysOther          // "Unsubscribe", "This wasn't me"
)

// maxAnchors bounds how many anchors are compared with each link.
const maxAnchors = 64

// said gives what the links to url say, as far as one of them says anything.
func said(url string, anchors []Anchor) saying {
	if len(url) > maxLink {
		return saysNothing
	}
	for i := range min(len(anchors), maxAnchors) {
		if anchors[i].URL != url {
			continue
		}
		var f folded
		f.fold(anchors[i].Text)
		if containsAny(f.lower, otherTexts) {
			return saysOther
		}
		if containsAny(f.lower, confirmTexts) {
			return saysConfirm
		}
	}
	return saysNothing
}

// Bounds of spoken: mails with more links are no letters that ask to follow one.
const (
	maxSpoken = 8
	maxLead   = 160 // bytes
)

// spoken gives the links of a plain text with the words before them, on the same line or, when there
// are none, on the line above: "Sign in here: https://...".
func spoken(text string, links []string) (out []Anchor) {
	if len(links) > maxSpoken {
		return nil
	}
	text = text[:min(len(text), maxScan)]
	for _, link := range links {
		if i := strings.Index(text, link); i > 0 {
			lead := strings.TrimRight(text[max(0, i-maxLead):i], " \t\r\n<(")
			out = append(out, Anchor{link, lead[strings.LastIndexByte(lead, '\n')+1:]})
		}
	}
	return out
}

var (
	confirmTexts = foldList("verif", "confirm", "activat", "validat", "sign in", "log in", "login", "magic link",
		"bestätig", "aktivier", "anmelden", "einloggen", "valider", "se connecter", "me connecter", "vous connecter", "te connecter", "connexion",
		"iniciar sesión", "inicia sesión", "acceder", "entrar", "conferma", "accedi", "attiva", "bevestig", "inloggen", "activeer",
		"bekräft", "logga in", "bekræft", "bekreft", "log ind", "logg inn", "vahvista", "kirjaudu", "kinnita", "potwierd", "zaloguj", "aktywuj",
		"potvrd", "ověřit", "overiť", "přihlásit", "prihlásiť", "megerősít", "bejelentkez", "doğrula", "onayla", "giriş yap", "etkinleştir",
		"подтверд", "войти", "підтверд", "увійти", "потвърд", "влез", "επιβεβαι", "επαληθ", "σύνδεση", "تأكيد", "تحقق", "تسجيل الدخول", "تایید", "ورود",
		"אימות", "אישור", "לאמת", "התחבר", "सत्यापित", "पुष्टि", "लॉग इन", "যাচাই", "নিশ্চিত", "লগইন", "ยืนยัน", "เข้าสู่ระบบ", "xác nhận", "xác minh", "đăng nhập",
		"verifikasi", "konfirmasi", "masuk", "验证", "驗證", "确认", "確認", "登录", "登入", "激活", "認証", "ログイン", "サインイン", "인증", "확인", "로그인")
	otherTexts = foldList("unsubscribe", "preferences", "settings", "privacy", "help", "support", "terms", "contact", "not me", "wasn't me", "not you", "didn't",
		"did not", "cancel", "secure your", "secure my", "report", "browser", "order", "abmelden von", "abbestellen", "newsletter", "désinscri", "désabonn",
		"darse de baja", "cancelar", "annull", "afmelden", "avregistrer", "afmeld", "отписаться", "відписатися", "退订", "取消", "配信停止", "수신거부")
)
