package link

import "inboxd/internal/otp/text"

import "strings"

// saying is what the text of a link promises.
type saying uint8

const (
	saysNothing saying = iota
	saysConfirm        // "Verify my email", "Sign in"
	saysReset          // "Reset my password"
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
		var f text.Folded
		f.Fold(anchors[i].Text)
		if otherTexts.In(f.Lower) {
			return saysOther
		}
		if confirmTexts.In(f.Lower) {
			return saysConfirm
		}
		if resetTexts.In(f.Lower) {
			return saysReset
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
func spoken(s string, links []string) (out []Anchor) {
	if len(links) > maxSpoken {
		return nil
	}
	s = s[:min(len(s), text.MaxScan)]
	for _, link := range links {
		if i := strings.Index(s, link); i > 0 {
			lead := strings.TrimRight(s[max(0, i-maxLead):i], " \t\r\n<(")
			out = append(out, Anchor{link, lead[strings.LastIndexByte(lead, '\n')+1:]})
		}
	}
	return out
}

// denied gives those spoken links that somebody follows who did not do what the mail tells of:
// "If this wasn't you: https://...". Only the words right before the link count.
func denied(spoken []Anchor) (out []Anchor) {
	for _, a := range spoken {
		lead := strings.TrimRight(a.Text, " :.?!-")
		if i := strings.LastIndexAny(lead, ".!?"); i >= 0 {
			lead = lead[i+1:]
		}
		var f text.Folded
		f.Fold(lead)
		if notMeTexts.In(f.Lower) {
			out = append(out, Anchor{a.URL, "not me"})
		}
	}
	return out
}

var (
	notMeTexts = text.FoldPhrases("wasn't you", "was not you", "isn't you", "not you", "wasn't me", "nicht du", "nicht sie", "nicht von ihnen", "pas vous", "pas toi", "no fuiste", "no has sido",
		"no fue usted", "não foi você", "não foste", "non sei stato", "niet jij", "was jij dit niet", "inte du", "ikke dig", "ikke deg", "to nie ty", "nebyl jste", "не вы", "не ви", "siz değil", "不是您", "非本人", "心当たりがない", "본인이 아")
	resetTexts = text.FoldPhrases("reset", "new password", "set password", "set your password", "choose a password", "change password", "change my password", "change your password", "zurücksetzen", "neues passwort", "neues kennwort", "réinitialiser", "nouveau mot de passe", "restablecer", "nueva contraseña",
		"redefinir", "nova senha", "reimposta", "nuova password", "opnieuw instellen", "nieuw wachtwoord", "återställ", "nulstil", "tilbakestill", "zresetuj", "nowe hasło", "obnovit heslo", "nové heslo", "visszaállítás", "resetează", "sıfırla", "сбросить", "новый пароль", "скинути", "επαναφορά", "إعادة تعيين", "איפוס", "重置", "重設", "再設定", "재설정", "đặt lại", "atur ulang")
	confirmTexts = text.FoldPhrases("verif", "confirm", "activat", "validat", "sign in", "log in", "login", "magic link",
		"bestätig", "aktivier", "anmelden", "einloggen", "valider", "se connecter", "me connecter", "vous connecter", "te connecter", "connexion",
		"iniciar sesión", "inicia sesión", "acceder", "entrar", "conferma", "accedi", "attiva", "bevestig", "inloggen", "activeer",
		"bekräft", "logga in", "bekræft", "bekreft", "log ind", "logg inn", "vahvista", "kirjaudu", "kinnita", "potwierd", "zaloguj", "aktywuj",
		"potvrd", "ověřit", "overiť", "přihlásit", "prihlásiť", "megerősít", "bejelentkez", "doğrula", "onayla", "giriş yap", "etkinleştir",
		"подтверд", "войти", "підтверд", "увійти", "потвърд", "влез", "επιβεβαι", "επαληθ", "σύνδεση", "تأكيد", "تحقق", "تسجيل الدخول", "تایید", "ورود",
		"אימות", "אישור", "לאמת", "התחבר", "सत्यापित", "पुष्टि", "लॉग इन", "যাচাই", "নিশ্চিত", "লগইন", "ยืนยัน", "เข้าสู่ระบบ", "xác nhận", "xác minh", "đăng nhập",
		"complete registration", "complete your registration", "complete sign", "complete your sign", "finish sign", "finish registration", "finish your registration", "it's me", "it was me", "approve sign", "approve login", "approve this",
		"registrierung abschließen", "anmeldung abschließen", "terminer l'inscription", "terminer mon inscription", "finaliser", "completar registro", "completar el registro", "concluir cadastro", "concluir registo", "completa la registrazione", "registratie voltooien",
		"slutför", "fuldfør", "fullfør", "dokończ rejestrac", "dokončit registrac", "kaydı tamamla", "завершить регистрац", "завершити реєстрац", "完成注册", "完成註冊", "登録を完了", "가입 완료", "hoàn tất đăng ký", "selesaikan pendaftaran",
		"verifikasi", "konfirmasi", "masuk", "验证", "驗證", "确认", "確認", "登录", "登入", "激活", "認証", "ログイン", "サインイン", "인증", "확인", "로그인")
	otherTexts = text.FoldPhrases("unsubscribe", "preferences", "settings", "privacy", "help", "support", "terms", "contact", "not me", "wasn't me", "not you", "didn't",
		"did not", "cancel", "secure your", "secure my", "report", "browser", "order", "abmelden von", "abbestellen", "désinscri", "désabonn",
		"how ", "learn more", "read more", "upgrade", "shop now", "buy", "renew", "pay now", "donate", "download", "get the app", "review", "rate your", "join meeting", "join the meeting", "share",
		"to comment", "to read", "to view", "to see", "to reply", "to track", "to shop", "to save",
		"darse de baja", "cancelar", "annull", "afmelden", "avregistrer", "afmeld", "отписаться", "відписатися", "退订", "取消", "配信停止", "수신거부")
)
