package link

import "inboxd/internal/otp/text"

// What the subject of a mail asks for, which decides about links that say nothing themselves.

// asked gives the link of a mail whose subject asks to confirm or to sign in: the one that says so, or
// the only one that nobody could guess.
func asked(m *Mail, anchors []Anchor) string {
	var f text.Folded
	f.Fold(m.Subject)
	if !asking.In(f.Lower) && !startsWith(f.Lower, askingFirst) {
		return ""
	}
	saying, secret, secrets := "", "", 0
	for i, link := range m.Links {
		if i == maxLinks {
			break
		}
		j, ok := readLink(link)
		says := said(link, anchors)
		switch {
		case !ok || says == saysOther || j.visits || j.refuses && says == saysNothing || len(m.Anchors) > 0 && !anchored(link, anchors):
		case says != saysNothing && saying == "":
			saying = link
		case (j.secret || j.named) && !sameLink(link, secret):
			secret = link
			secrets++
		}
	}
	if saying == "" && secrets == 1 {
		return secret
	}
	return saying
}

func anchored(link string, anchors []Anchor) bool {
	for i := range min(len(anchors), maxAnchors) {
		if anchors[i].URL == link {
			return true
		}
	}
	return false
}

func startsWith(l []byte, list [][]byte) bool {
	for _, w := range list {
		if len(l) >= len(w) && string(l[:len(w)]) == string(w) {
			return true
		}
	}
	return false
}

var (
	askingFirst = text.FoldList("sign in to", "log in to", "login to", "anmelden bei", "connectez-vous à", "connexion à", "inicia sesión en", "iniciar sesión en", "entrar em", "accedi a", "inloggen bij", "logga in på", "log ind på", "logg inn på", "zaloguj się do", "přihlášení do")
	asking      = text.FoldPhrases("verify your", "verify email", "verify this", "confirm your", "confirm email", "activate your", "validate your", "finish signing", "complete your sign", "complete your regis", "magic link", "login link", "sign-in link", "sign in link",
		"reset your", "reset password", "set a new password", "set up a new password", "set your password",
		"restablece tu", "restablezca su", "restablecer contraseña", "réinitialisez votre", "réinitialisation de votre mot", "passwort zurücksetzen", "kennwort zurücksetzen", "redefina sua", "redefinir senha", "reimposta la", "wachtwoord opnieuw", "återställ ditt", "nulstil din", "tilbakestill passord", "zresetuj hasło", "obnovení hesla", "resetează parola", "şifrenizi sıfırla", "şifreni sıfırla", "сброс пароля", "скидання пароля", "パスワードの再設定", "비밀번호 재설정", "重置密码", "重設密碼", "đặt lại mật khẩu", "atur ulang kata sandi", "إعادة تعيين كلمة",
		"bestätige dein", "bestätigen sie", "aktiviere dein", "aktivieren sie", "confirmez votre", "vérifiez votre", "activez votre", "validez votre", "confirma tu", "verifica tu", "confirme su", "verifique su", "activa tu",
		"confirme seu", "confirme sua", "confirme o seu", "verifique seu", "ative sua", "conferma il tuo", "conferma la tua", "verifica il tuo", "verifica la tua", "bevestig je", "bevestig uw", "verifieer je", "activeer je", "activeer uw",
		"potwierdź", "zweryfikuj", "aktywuj", "potvrďte", "ověřte", "overte", "aktivujte", "подтвердите", "активируйте", "підтвердіть", "активуйте", "потвърдете", "bekräfta din", "verifiera din", "bekræft din", "bekreft din", "bekreft e-post", "vahvista",
		"erősítsd meg", "erősítse meg", "confirmă", "confirmați", "doğrulayın", "onaylayın", "etkinleştirin", "επιβεβαιώστε", "επαληθεύστε", "確認してください", "認証してください", "登録を完了", "验证您的", "请验证", "确认您的", "激活您的", "驗證您的", "確認您的",
		"인증해", "확인해 주세요", "أكد بريدك", "تأكيد بريدك", "xác nhận email", "xác minh email", "kích hoạt tài khoản", "verifikasi email", "konfirmasi email", "aktifkan akun")
)
