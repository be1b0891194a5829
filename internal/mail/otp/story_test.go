package otp

import (
	"strings"
	"testing"
)

// TestNormalForms checks that every way to write a code gives the form that the user types.
func TestNormalForms(t *testing.T) {
	var none misses
	for written, want := range normalForms {
		for _, frame := range formFrames {
			text := strings.Replace(frame, "%", written, 1)
			none.count(t, written, Input{Text: text}, want)
		}
	}
	none.judge(t)
}

// TestLanguages has codes with their labels in many languages: on a line of its own, behind the
// label, and before it.
func TestLanguages(t *testing.T) {
	check(t, []mail{
		{name: "english", text: "Your Acme code is 482913. Don't share it.", want: "482913"},
		{name: "english before", text: "482913 is your Acme verification code", want: "482913"},
		{name: "english pin", text: "Your one-time PIN: 4829", want: "4829"},
		{name: "english passcode", text: "Here's your passcode\n\n482913\n\nValid for 5 minutes.", want: "482913"},
		{name: "english enter", subject: "Finish signing in", text: "Enter 482913 to verify your email.", want: "482913"},
		{name: "english use as", text: "Use 482913 as your login code for Acme.", want: "482913"},
		{name: "english temporary password", text: "Your temporary password is 482913", want: "482913"},
		{name: "german", text: "Ihr Bestätigungscode lautet 482913.", want: "482913"},
		{name: "german umlaut spelled out", text: "Ihr Bestaetigungscode: 482913", want: "482913"},
		{name: "german before", text: "482913 ist dein Anmeldecode für Acme.", want: "482913"},
		{name: "german line", text: "Bitte geben Sie folgenden Code ein:\n\n482913\n\nDer Code ist 10 Minuten gültig.", want: "482913"},
		{name: "german tan", text: "Ihre TAN für die Überweisung über 1.250,00 EUR lautet: 482913", want: "482913"},
		{name: "german compound", text: "Ihr Registrierungscode: 482913", want: "482913"},
		{name: "french", text: "Votre code de vérification est 482913", want: "482913"},
		{name: "french usage unique", text: "Voici votre code à usage unique :\n482 913", want: "482913"},
		{name: "french enter", text: "Saisissez le code 482913 pour vous connecter.", want: "482913"},
		{name: "french long", text: "Le code à saisir pour votre achat de 200,00 EUR est 48291377. Ne donnez ce code à personne.", want: "48291377"},
		{name: "spanish", text: "Tu código de verificación es: 482913", want: "482913"},
		{name: "spanish before", text: "482913 es tu código para entrar en Acme.", want: "482913"},
		{name: "spanish clave", text: "Su clave dinámica es 482913, no la comparta.", want: "482913"},
		{name: "catalan", text: "El teu codi de verificació és 482913", want: "482913"},
		{name: "portuguese", text: "Seu código de segurança é 482913.", want: "482913"},
		{name: "brazilian", text: "Use o código abaixo para acessar sua conta:\n\n482913", want: "482913"},
		{name: "italian", text: "Il tuo codice di verifica è 482913", want: "482913"},
		{name: "italian line", text: "Inserisci questo codice per accedere:\n482913", want: "482913"},
		{name: "romanian", text: "Codul tău de verificare este 482913", want: "482913"},
		{name: "dutch", text: "Je verificatiecode is 482913", want: "482913"},
		{name: "dutch inlog", text: "Gebruik de inlogcode 482913 om in te loggen.", want: "482913"},
		{name: "danish", text: "Din bekræftelseskode er 482913", want: "482913"},
		{name: "norwegian", text: "Din engangskode er 482913", want: "482913"},
		{name: "swedish", text: "Din verifieringskod är 482913", want: "482913"},
		{name: "finnish", text: "Vahvistuskoodisi on 482913", want: "482913"},
		{name: "icelandic", text: "Staðfestingarkóðinn þinn er 482913", want: "482913"},
		{name: "estonian", text: "Teie kinnituskood on 482913", want: "482913"},
		{name: "latvian", text: "Jūsu verifikācijas kods ir 482913", want: "482913"},
		{name: "lithuanian", text: "Jūsų patvirtinimo kodas: 482913", want: "482913"},
		{name: "polish", text: "Twój kod weryfikacyjny to 482913", want: "482913"},
		{name: "polish before", text: "482913 to Twój kod jednorazowy", want: "482913"},
		{name: "czech", text: "Váš ověřovací kód je 482913", want: "482913"},
		{name: "slovak", text: "Váš overovací kód: 482913", want: "482913"},
		{name: "slovene", text: "Vaša potrditvena koda je 482913", want: "482913"},
		{name: "croatian", text: "Vaš kod za potvrdu je 482913", want: "482913"},
		{name: "serbian", text: "Ваш код за потврду је 482913", want: "482913"},
		{name: "hungarian", text: "Az ellenőrző kódod: 482913", want: "482913"},
		{name: "turkish", text: "Doğrulama kodunuz: 482913", want: "482913"},
		{name: "turkish before", text: "482913 Acme doğrulama kodunuzdur.", want: "482913"},
		{name: "azeri", text: "Təsdiq kodu: 482913", want: "482913"},
		{name: "albanian", text: "Kodi i verifikimit është 482913", want: "482913"},
		{name: "russian", text: "Ваш код подтверждения: 482913", want: "482913"},
		{name: "russian before", text: "482913 — ваш код для входа", want: "482913"},
		{name: "russian password", text: "Одноразовый пароль: 482913", want: "482913"},
		{name: "ukrainian", text: "Ваш код підтвердження: 482913", want: "482913"},
		{name: "belarusian", text: "Ваш код пацверджання: 482913", want: "482913"},
		{name: "bulgarian", text: "Вашият код за потвърждение е 482913", want: "482913"},
		{name: "greek", text: "Ο κωδικός επαλήθευσής σας είναι 482913", want: "482913"},
		{name: "georgian", text: "თქვენი ერთჯერადი კოდია: 482913", want: "482913"},
		{name: "armenian", text: "Ձեր հաստատման կոդը՝ 482913", want: "482913"},
		{name: "kazakh", text: "Растау коды: 482913", want: "482913"},
		{name: "arabic", text: "رمز التحقق الخاص بك هو ٤٨٢٩١٣", want: "482913"},
		{name: "arabic before", text: "482913 هو رمز التحقق الخاص بك", want: "482913"},
		{name: "persian", text: "کد تأیید شما: ۴۸۲۹۱۳", want: "482913"},
		{name: "persian joiner", text: "کد‌ورود: ۴۸۲۹۱۳", want: "482913"},
		{name: "urdu", text: "آپ کا تصدیقی کوڈ 482913 ہے", want: "482913"},
		{name: "hebrew", text: "קוד האימות שלך הוא 482913", want: "482913"},
		{name: "hindi", text: "आपका सत्यापन कोड 482913 है", want: "482913"},
		{name: "bengali", text: "আপনার যাচাইকরণ কোড 482913", want: "482913"},
		{name: "tamil", text: "உங்கள் சரிபார்ப்புக் குறியீடு: 482913", want: "482913"},
		{name: "telugu", text: "మీ ధృవీకరణ కోడ్ 482913", want: "482913"},
		{name: "thai", text: "รหัสยืนยันของคุณคือ 482913", want: "482913"},
		{name: "lao", text: "ລະຫັດຢືນຢັນຂອງທ່ານ: 482913", want: "482913"},
		{name: "vietnamese", text: "Mã xác nhận của bạn là 482913", want: "482913"},
		{name: "vietnamese bare", text: "Ma xac thuc cua quy khach la 482913", want: "482913"},
		{name: "indonesian", text: "Kode verifikasi Anda adalah 482913. Jangan berikan kepada siapa pun.", want: "482913"},
		{name: "malay", text: "Kod pengesahan anda ialah 482913", want: "482913"},
		{name: "tagalog", text: "Ang iyong verification code ay 482913", want: "482913"},
		{name: "swahili", text: "Nambari yako: msimbo wa uthibitishaji 482913", want: "482913"},
		{name: "chinese", text: "您的验证码是482913，5分钟内有效。", want: "482913"},
		{name: "chinese before", text: "【某某】482913（登录验证码），请勿泄露。", want: "482913"},
		{name: "traditional chinese", text: "您的驗證碼為 482913，請於10分鐘內輸入。", want: "482913"},
		{name: "japanese", text: "認証コードは482913です。", want: "482913"},
		{name: "japanese line", text: "以下の確認コードを入力してください。\n\n482913\n\n有効期限は10分です。", want: "482913"},
		{name: "korean", text: "인증번호는 [482913] 입니다.", want: "482913"},
		{name: "korean line", text: "아래 인증 코드를 입력해 주세요.\n482913", want: "482913"},
	})
}

// TestQuotes checks that the code of a quoted message is never the result, and that the code of a
// forwarded message is.
func TestQuotes(t *testing.T) {
	const old = "Your verification code is 170196."
	check(t, []mail{
		{name: "marks", text: "Your new verification code is 509986.\n\nOn Mon, 2 Mar 2026 at 10:14, Support <support@svc.example> wrote:\n> " + old, want: "509986"},
		{name: "marks, answer below", text: "On 2 Mar 2026 at 10:14, Support wrote:\n> " + old + "\n\nYour new verification code is 509986.", want: "509986"},
		{name: "no marks", text: "Thanks!\n\nOn Mon, 2 Mar 2026 at 10:14, Support <support@svc.example> wrote:\n\n" + old},
		{name: "two lines", text: "Thanks!\n\nOn Mon, 2 Mar 2026 at 10:14, Support <support@svc.example>\nwrote:\n\n" + old},
		{name: "german", text: "Danke!\n\nAm 02.03.2026 um 10:14 schrieb Support <support@svc.example>:\n\n" + old},
		{name: "french", text: "Merci !\n\nLe lun. 2 mars 2026 à 10:14, Support <support@svc.example> a écrit :\n\n" + old},
		{name: "chinese", text: "谢谢\n\n在 2026年3月2日，Support <support@svc.example> 写道：\n\n" + old},
		{name: "original message", text: "Thanks\n\n-----Original Message-----\nFrom: Support\nSent: Monday\n\n" + old},
		{name: "outlook", text: "Thanks\n\nFrom: Support <support@svc.example>\nSent: Monday, March 2, 2026 10:14\nTo: me\nSubject: code\n\n" + old},
		{name: "outlook german", text: "Danke\n\nVon: Support <support@svc.example>\nGesendet: Montag, 2. März 2026 10:14\nAn: ich\n\n" + old},
		{name: "a date in a table", text: "New sign-in\n\nDevice: Firefox\nDate: 2 March 2026\n\n" + old, want: "170196"},
		{name: "deep marks", text: ">> " + old + "\n> and more"},
		{name: "somebody wrote", text: "Our founder wrote:\n" + old, want: "170196"},
		{name: "forwarded", subject: "Fwd: Your code", text: "---------- Forwarded message ---------\nFrom: Support <support@svc.example>\nDate: Mon, 2 Mar 2026\nSubject: Your code\n\n" + old, want: "170196"},
		{name: "forwarded by outlook", subject: "FW: Your code", text: "-----Original Message-----\nFrom: Support <support@svc.example>\nSent: Monday\n\n" + old, want: "170196"},
	})
}

var normalForms = map[string]string{
	"482913":             "482913",
	"482 913":            "482913",
	"482\u00a0913":       "482913",
	"482\u2009913":       "482913",
	"482-913":            "482913",
	"482 - 913":          "482913",
	"482–913":            "482913",
	"48 29 13":           "482913",
	"4829 1377":          "48291377",
	"4 8 2 9 1 3":        "482913",
	"4  8  2  9  1  3":   "482913",
	"4-8-2-9-1-3":        "482913",
	"4\u200b8\u200b2913": "482913",
	"482\u00ad913":       "482913",
	"４８２９１３":             "482913",
	"٤٨٢٩١٣":             "482913",
	"۴۸۲۹۱۳":             "482913",
	"४८२९१३":             "482913",
	"৪৮২৯১৩":             "482913",
	"๔๘๒๙๑๓":             "482913",
	"𝟒𝟖𝟐𝟗𝟏𝟑":             "482913",
	"4️⃣8️⃣2️⃣9️⃣1️⃣3️⃣": "482913",
	"G-482913":    "482913",
	"FB-48291":    "48291",
	"K-482-913":   "482913",
	"ABC-123":     "ABC-123",
	"K7QX2M":      "K7QX2M",
	"7EX-X6R":     "7EX-X6R",
	"tt226-5398x": "tt226-5398x",
	"35TU5ZXB":    "35TU5ZXB",
	"1 u 8 k u f": "1u8kuf",
	"K 7 Q X 2 M": "K7QX2M",
	"Ｋ７ＱＸ２Ｍ":      "K7QX2M",
	"XKJ-BVT":     "XKJ-BVT",
	"QGFDAE":      "QGFDAE",
	"001851":      "001851",
	"6673":        "6673",
	"52116381":    "52116381",
}

var formFrames = []string{"Your verification code is %", "Verification code: %.", "Enter this verification code:\n\n%\n\nIt expires in 10 minutes.",
	"Your verification code\n**%**\n", "Your verification code is: \"%\"", "Bestätigungscode: %", "认证码：%", "Ваш код подтверждения: %."}
