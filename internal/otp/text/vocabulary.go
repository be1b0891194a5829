package text

// vocabulary is one row of the word table: a language (for the reader only), what the
// words mean, and the words as that language writes them. See lexicon.go for the signs.
type vocabulary struct {
	lang  string
	class Class
	words string
}

var words = newLexicon(append(append(labels, qualifiers...), lookAlikes...))

// labels are the words that announce a code.
var labels = []vocabulary{
	{"all", ClassOTP, "otp, otps, otpcode, totp, mtan, smstan, pushtan, etan, mobiletan, mobile tan, phototan, chiptan, apptan, sms tan, push tan, 2fa code, mfa code, one time p/w, passkode otp, otp code, otp kod, otp kodu, otp kode"},
	{"all", ClassOTP, "authentication number, validation number, número de verificación, número de verificação, numéro de vérification, verifizierungsnummer, numero di verifica, verificatienummer, numer weryfikacyjny, ověřovací číslo, номер подтверждения, проверочный номер, doğrulama numara*, αριθμός επιβεβαίωσης, αριθμός επαλήθευσης, αριθμό επαλήθευσης, số xác nhận, số xác thực, nomor verifikasi, رقم التأكيد, او ٹی پی, اوٹی پی, او تی پی, أو تي بي, отп"},
	{"all", ClassOTP, "簡訊密碼, 交易密碼, 交易密码, 簡訊動態密碼, código de un uso, código de início de sessão, รหัสลงทะเบียน, mã đăng ký, код за активиране, код за достъп, kodi njëpërdorimësh, otc, verification key, safety code, código de entrada, código de cadastro, código de ingresso, código de registo, código de registro, código de login, cod de logare, cod de înregistrare, kertakoodi*, vahvistustunnus*, turvaluku*, varmennuskoodi*, palautuskoodi*, rekisteröintikoodi*, tekstiviestikoodi*, rücksetzcode*, zurücksetzungscode*, zwei faktor code*, 2 faktor code*, resetcode*, herstelcode*, veiligheidscode*, registratiecode*, registrierungscode*, registreringskod*, tvåfaktorskod*, totrinskode*, totrinnskode*, valideringskode*, gjenopprettingskode*, återställningskod*, nulstillingskode*, tilbakestillingskode*, registreerimiskood*, kod rejestracyjn*, kod zabezpieczając*, kod resetow*, ellenőrző szám*, kodi i hyrjes, kodi i përkohshëm, kodi njëpërdorimësh, mã khôi phục, mã tạm thời, mã sử dụng một lần, kode pemulihan, kode pendaftaran, kod pendaftaran, kode unik, бір реттік құпиясөз, одноразовый ключ, одноразовий ключ, namba ya siri ya muda, nambari ya uthibitishaji, nenosiri la mara moja, ஒருமுறை கடவுச்சொல்*, ఒకసారి పాస్‌వర్డ్*, ワンタイムキー, ワンタイムpw, セキュリティ番号, ログイン番号, 로그인 번호, 보안 번호, 인증키, 重設碼, 重设码"},
	{"all", ClassPasscode, "code confidentiel, code reçu, codice segreto, código secreto, codice personale, code personnel, codice di sblocco, aktiveerimiskood*, einwahlcode*, kirjautumistunnus*"},
	{"all", ClassHarmless, "codes of conduct, code of conduct, dress code, source code, code review, code path, code base, code snippet, code block, code editor, vs code, no code, low code, open source"},

	{"en", ClassCode, "~code, codes, number below, following number, ~pin, pin code, pincode, token, digits, digit number, authcode, vcode"},
	{"all", ClassCode, "ces chiffres, ces six chiffres, les chiffres suivants, estos dígitos, estos números, estes números, estes dígitos, queste cifre, de cijfers hieronder, deze cijfers, de volgende cijfers, dessa siffror, disse cifre, disse sifrene, nämä numerot, te cyfry, poniższe cyfry, tyto číslice, bu rakamları, цифры из этого письма, цифры из письма, эти шесть цифр, следующие цифры, наступні цифри, these six digits, diese zahl, dieser zahl, folgende zahl, diese nummer, dieser nummer, folgende nummer, ce numéro, le numéro suivant, este número, el siguiente número, el número que debes, el número que debe, o número que deve, il numero da inserire, le numéro à saisir, die nummer die, o seguinte número, questo numero, il seguente numero, dit nummer, volgende nummer, detta nummer, dette nummer, denne nummer, ten numer, toto číslo, ezt a számot, bu numarayı, bu sayıyı, этот номер, это число, ці цифри, эти цифры, 以下数字, 以下數字, 次の番号, 以下の番号, 下記の番号, この番号, こちらの番号, 다음 번호, 아래 번호, 이 번호, 숫자 번호, this number, these digits, these numbers, six digits"},
	{"en", ClassPasscode, "tac, passcode*, pass code, access code, confirmation code, activation code, signature code, access key, secure key, login key, sign in key, one time key, activation number, activation key, pass key code, unlock code"},
	{"en", ClassPassword, "~password*, passphrase, ~pwd, pw"},
	{"en", ClassOTP, "verification code*, verification number, verification pin, login code, log in code, signin code, sign in code, sign on code, signup code, sign up code, authentication code, authenticator code, sms code, text code, email code, e mail code, one time code, onetime code, verify code, recovery code, reset code, device code, magic code, single use code, sign in number, signin number, login number, log in number, account confirmation number, validation code, temporary code, passwordless code"},

	{"en", ClassApproval, "security code, authorization code, authorisation code, approval code, auth code, código de autenticação, código de autorização, código de autorización, codice di autorizzazione, code d'autorisation, autorisierungscode*, genehmigungscode*, autorisatiecode*, код авторизации, код авторизації, 授权码, 授權碼, 승인번호, 승인 번호"},

	{"all", ClassPasscode, "pairing code, kopplungscode*, pairingcode*, code d'appairage, code de jumelage, código de emparejamiento, código de vinculación, código de pareamento, codice di associazione, koppelcode*, kod parowania, párovací kód*, párosítási kód*, cod de asociere, cod de împerechere, код сопряжения, код спаривания, код сполучення, eşleştirme kod*, parningskod*, parringskode*, laitepariliitoskood*, ペアリングコード, 配对码, 配對碼, 페어링 코드, 연결 코드, รหัสจับคู่, mã ghép nối, kode pemasangan, kode penautan"},
	{"de", ClassCode, "~code, ~codes, ~kode, ~pin, ~nummer code, zahlencode, ~ziffern, ziffernfolge, zahlenfolge, zahlenkombination, ziffernkombination, zeichenfolge"},
	{"de", ClassPasscode, "zweite faktor, zweiter faktor, second factor, second facteur, segundo factor, secondo fattore, tan, tan code, tans, zugangscode*, zugriffscode*, freischaltcode*, freigabecode*, aktivierungscode*, zugangskode*, zugangsschlussel"},
	{"de", ClassPassword, "~passwort*, ~kennwort*, ~schlussel"},
	{"de", ClassOTP, "sicherheitscode*, bestätigungscode*, bestaetigungscode*, verifizierungscode*, verifikationscode*, prüfcode*, pruefcode*, anmeldecode*, logincode*, einmalcode*, einmalkennwort*, einmalpasswort*, einmal pin, authentifizierungscode*, einmalschlüssel"},

	{"nl", ClassCode, "~code, ~codes, ~pincode"},
	{"nl", ClassPasscode, "toegangscode*, activeringscode*, activatiecode*"},
	{"nl", ClassPassword, "~wachtwoord*"},
	{"nl", ClassOTP, "verificatiecode*, bevestigingscode*, beveiligingscode*, inlogcode*, aanmeldcode*, eenmalige code, controlecode*, identificatiecode*, authenticatiecode*"},

	{"da no", ClassCode, "~kode, ~koden, ~koder, ~kodet, ~pinkode"},
	{"da no", ClassPasscode, "adgangskode*, adgangskoden, tilgangskode*, aktiveringskode*, tilgangskoden, kodeord"},
	{"da no", ClassPassword, "~passord*, ~adgangsord"},
	{"da no", ClassOTP, "bekræftelseskode*, bekreftelseskode*, sikkerhedskode*, sikkerhetskode*, engangskode*, engangspassord*, verifikationskode*, verifiseringskode*, verificeringskode*, godkendelseskode*, innloggingskode*, påloggingskode*, loginkode*, autentificeringskode*, autentiseringskode*, engangsadgangskode*, kontrollkode*, kontrolkode*, stadfestingskode*"},

	{"sv", ClassCode, "~kod, ~koden, ~koder, ~pinkod"},
	{"sv", ClassPasscode, "åtkomstkod*, aktiveringskod*, tillträdeskod*"},
	{"sv", ClassPassword, "~lösenord*"},
	{"sv", ClassOTP, "verifieringskod*, verifikationskod*, bekräftelsekod*, säkerhetskod*, engångskod*, engångslösenord*, inloggningskod*, autentiseringskod*, kontrollkod*, lösenkod*"},

	{"is fo", ClassCode, "~kóði*, ~kóða*, ~kóðin*, ~kota, ~kotan"},
	{"is fo", ClassPasscode, "aðgangskóði*"},
	{"is fo", ClassOTP, "staðfestingarkóð*, öryggiskóð*, váttanarkot*, vátta kot*"},

	{"fi", ClassCode, "~koodi*, pin koodi*"},
	{"fi", ClassPasscode, "pääsykoodi*, aktivointikoodi*, tunnusluku*, avainluku*"},
	{"fi", ClassPassword, "~salasana*"},
	{"fi", ClassOTP, "vahvistuskoodi*, kertakäyttökoodi*, kertakäyttösalasana*, todennuskoodi*, turvakoodi*, kirjautumiskoodi*, varmistuskoodi*, suojakoodi*, vahvistusnumero*"},

	{"et lv lt", ClassCode, "~kood, ~koodi, ~koodiga, ~kods, ~kodu, ~koda, ~kodas, ~kodą, ~kodo"},
	{"et lv lt", ClassPasscode, "pääsukood*, piekļuves kod*, prieigos kod*, ligipääsukood*"},
	{"et lv lt", ClassPassword, "~parool*, ~parole, ~paroli, slaptažod*"},
	{"et lv lt", ClassOTP, "kinnituskood*, turvakood*, ühekordne kood, verifikatsioonikood*, sisselogimiskood*, verifikācijas kod*, apstiprinājuma kod*, vienreiz* kod*, drošības kod*, patvirtinimo kod*, vienkartin* kod*, saugos kod*"},

	{"fr", ClassCode, "~code, ~codes, code pin"},
	{"fr", ClassPasscode, "code d'accès, code d'activation, code accès, clé d'accès, code de confirmation"},
	{"fr", ClassPassword, "mot de passe, mots de passe, code secret"},
	{"fr", ClassOTP, "code de vérification, code de sécurité, code de connexion, code de validation, code d'authentification, code d'identification, code à usage unique, code unique, code sms, code temporaire, code à saisir, mot de passe à usage unique, mot de passe unique"},

	{"es", ClassCode, "código*, clave*, pin, codi, codis"},
	{"es fr", ClassPasscode, "nip de acceso, nip de seguridad, nip temporal, nip dinámico, tu nip, su nip, votre nip"},
	{"es", ClassPasscode, "código de acceso, clave de acceso, código de activación, codi d'accés, clave de firma, clave dinámica, código de confirmación"},
	{"es", ClassPassword, "contraseña*, contrasenya*"},
	{"es", ClassOTP, "código de verificación, código de seguridad, código de inicio de sesión, código de un solo uso, código único, código temporal, clave de un solo uso, clave temporal, contraseña temporal, contraseña de un solo uso, codi de verificació, codi de confirmació, codi de seguretat, código de autenticación, código de validación"},

	{"pt", ClassCode, "código*, cod, chave"},
	{"pt", ClassPasscode, "código de acesso, código de ativação, senha de acesso, chave de acesso"},
	{"pt", ClassPassword, "senha*, palavra passe"},
	{"pt", ClassOTP, "código de verificação, código de confirmação, código de segurança, chave de segurança, código de login, código de uso único, código temporário, senha temporária, senha de uso único, código único, código de validação"},

	{"gl", ClassCode, "código"},
	{"it", ClassCode, "codice, codici, codice pin"},
	{"it", ClassPasscode, "codice di accesso, codice d'accesso, codice di attivazione, codice attivazione, chiave di accesso, codice di conferma"},
	{"it", ClassPassword, "parola d'ordine, parola chiave"},
	{"it", ClassOTP, "codice di verifica, codice di sicurezza, codice di autenticazione, codice monouso, codice usa e getta, codice temporaneo, codice di convalida, codice univoco, codice otp"},

	{"ro", ClassCode, "cod, codul, codului, coduri"},
	{"ro", ClassPasscode, "cod de acces, codul de acces, cod de activare, codul de activare, cod de confirmare, codul de confirmare"},
	{"ro", ClassPassword, "parola*, parolă"},
	{"ro", ClassOTP, "cod de verificare, codul de verificare, cod de securitate, codul de securitate, cod unic, codul unic, cod de autentificare, codul de autentificare"},

	{"pl", ClassCode, "kod, kodu, kodem, kody, kodów"},
	{"pl", ClassPasscode, "kod dostępu, kodu dostępu, kod aktywacyjny, kod aktywacji"},
	{"pl", ClassPassword, "hasł*"},
	{"pl", ClassOTP, "hasło sms, kod sms, kod weryfikacyjn*, kodu weryfikacyjn*, kod potwierdzaj*, kod potwierdzenia, kod bezpieczeństwa, kod jednorazow*, hasło jednorazow*, kod autoryzacyjn*, kod uwierzytelniaj*, kod logowania, smskod"},

	{"cs sk", ClassCode, "kód*"},
	{"cs sk", ClassPasscode, "přístupový kód*, prístupový kód*, aktivační kód*, aktivačný kód*"},
	{"cs sk", ClassPassword, "hesl*"},
	{"cs sk", ClassOTP, "ověřovací kód*, overovací kód*, potvrzovací kód*, potvrdzovací kód*, bezpečnostní kód*, bezpečnostný kód*, jednorázový kód*, jednorázové hesl*, autorizační kód*, autorizačný kód*, přihlašovací kód*, prihlasovací kód*, verifikační kód*, verifikačný kód*, kontrolní kód*"},

	{"sl hr sr bs", ClassCode, "kod, koda, kodo, kôd, kodom, šifra*"},
	{"sl hr sr bs", ClassPasscode, "pristupni kod, pristupni kôd, dostopna koda, dostopno kodo, aktivacijski kod, aktivacijska koda, pristupna šifra"},
	{"sl hr sr bs", ClassPassword, "lozink*, geslo*, zapork*"},
	{"sl hr sr bs", ClassOTP, "verifikacijski kod*, verifikacioni kod*, kontrolni kod*, potvrdni kod*, sigurnosni kod*, bezbednosni kod*, jednokratni kod*, jednokratna lozinka, varnostna koda, varnostno kodo, potrditvena koda, potrditveno kodo, enkratna koda, enkratno kodo, kod za potvrdu, kod za verifikaciju, kod za prijavu, koda za preverjanje"},

	{"hu", ClassCode, "kód, kódot, kódja, kódját, kódod, kódodat, kódunk, kódját, ~kódod, ~kód, ~kódot, ~kódja, ~kódját"},
	{"hu", ClassPasscode, "belépőkód*, hozzáférési kód*, belépési kód*, aktiváló kód*, aktiválókód*"},
	{"hu", ClassPassword, "~jelsz*"},
	{"hu", ClassOTP, "ellenőrző kód*, ellenőrzőkód*, megerősítő kód*, megerősítőkód*, biztonsági kód*, hitelesítő kód*, hitelesítési kód*, hitelesítőkód*, egyszer használatos kód*, egyszeri kód*, egyszeri jelsz*, bejelentkezési kód*, igazoló kód*, visszaigazoló kód*"},

	{"tr az", ClassCode, "kod, kodu, kodun, kodunu, kodunuz, kodunuzu, kodum, kodunuzdur, kodla, koddan, kodlar, şifre*, parol*, parola*"},
	{"tr az", ClassPasscode, "erişim kodu*, giriş kodu*, aktivasyon kodu*, giriş kodunuz*, giriş kodun*"},
	{"tr az", ClassPassword, "parola*"},
	{"tr az", ClassOTP, "doğrulama kod*, onay kod*, güvenlik kod*, tek kullanımlık kod*, tek kullanımlık şifre*, tek kullanımlık parola*, sms kod*, sms şifre*, təsdiq kod*, təsdiqləmə kod*, birdəfəlik kod*, birdəfəlik şifrə*, təhlükəsizlik kod*, doğrulama şifre*, onay şifre*, kimlik doğrulama kod*"},

	{"sq", ClassCode, "kodi, kodin, kodit"},
	{"sq", ClassOTP, "kodi i verifikimit, kodin e verifikimit, kodi i konfirmimit, kodi i sigurisë"},

	{"ru", ClassCode, "код, кода, коду, кодом, коды, пин, пинкод, пин код, токен"},
	{"ru", ClassPasscode, "код доступа, кода доступа, код активации"},
	{"ru", ClassPassword, "парол*"},
	{"ru", ClassOTP, "код подтверждения, кода подтверждения, проверочный код, код проверки, одноразовый код, одноразовый пароль, код безопасности, код аутентификации, код верификации, смс код, код из смс, код входа, код для входа, секретный код, сеансовый пароль, защитный код, контрольный код, временный код, временный пароль"},

	{"uk be", ClassCode, "код, коду, кодом"},
	{"uk be", ClassPasscode, "код доступу, код активації, код доступа, код доступу"},
	{"uk be", ClassPassword, "пароль*"},
	{"uk be", ClassOTP, "код підтвердження, код перевірки, код верифікації, одноразовий код, одноразовий пароль, код безпеки, перевірочний код, код авторизації, код входу, код пацверджання, код праверкі, аднаразовы код, проверачны код, код спраўджання"},

	{"bg mk sr", ClassCode, "код, кода, кодът, кодот"},
	{"bg mk sr", ClassPassword, "парола*, лозинк*"},
	{"bg mk sr", ClassOTP, "код за потвърждение, код за потвърждаване, код за проверка, код за верификация, код за вход, еднократен код, еднократна парола, код за сигурност, верификационен код, код за потврда, код за верификацију, једнократни код, сигурносни код, верификациони код, код за верификација"},

	{"kk ky uz mn", ClassCode, "код, коды, кодты, кодыңыз, кодуңуз, kodi, kodingiz"},
	{"kk ky uz mn", ClassOTP, "растау код*, тасдиқлаш код*, tasdiqlash kod*, бір реттік код*, баталгаажуулах код*, ырастоо код*"},

	{"am", ClassCode, "ኮድ*"},
	{"am", ClassPassword, "የይለፍ ቃል*"},
	{"am", ClassOTP, "የማረጋገጫ ኮድ*, የማረጋገጫ ቁጥር*, የአንድ ጊዜ ኮድ*, የመግቢያ ኮድ*"},

	{"ka hy", ClassCode, "კოდი*, kodi, kods, კოდ*, կոդ*, ծածկագիր*"},
	{"ka hy", ClassPassword, "პაროლ*, գաղտնաբառ*"},
	{"ka hy", ClassOTP, "ერთჯერადი კოდი*, სავერიფიკაციო კოდი*, ertjeradi kodi, ერთჯერადი პაროლი, հաստատման կոդ*, դადასტურების კოდი*, მეანგამიე კოდ*, დადასტურების კოდი*, ვერიფიკაციის კოდი*"},

	{"el", ClassCode, "κωδικο*, κωδικό*, pin"},
	{"el", ClassPasscode, "κωδικός ενεργοποίησης, κωδικός εισόδου"},
	{"el", ClassPassword, "κωδικός πρόσβασης, κωδικό πρόσβασης, κωδικού πρόσβασης, συνθηματικ*"},
	{"el", ClassOTP, "κωδικός επαλήθευσης, κωδικό επαλήθευσης, κωδικός επιβεβαίωσης, κωδικό επιβεβαίωσης, κωδικός ασφαλείας, κωδικό ασφαλείας, κωδικός μίας χρήσης, κωδικό μίας χρήσης, κωδικός μιας χρήσης, κωδικός ταυτοποίησης, κωδικός σύνδεσης"},

	{"ar", ClassCode, "رمز, الرمز, رمزك, برمز, كود, الكود, شفرة, رقم سري"},
	{"ar", ClassPasscode, "رمز الوصول, رمز المرور, رمز الدخول, رمز التفعيل, كود التفعيل, كود الدخول"},
	{"ar", ClassPassword, "كلمة المرور, كلمة السر, كلمة مرور, الرقم السري"},
	{"ar", ClassOTP, "رمز التحقق, رمز التأكيد, رمز تحقق, رمز الأمان, رمز المصادقة, كود التحقق, كود التأكيد, رمز لمرة واحدة, كلمة مرور لمرة واحدة, كلمة المرور لمرة واحدة, الرمز السري, رمز سري, رمز تسجيل الدخول, رقم التحقق, رمز التوثيق, رمز التوكيد"},

	{"fa ur ku", ClassCode, "کد, کدی, رمز, کوڈ, کۆد*, کۆدی"},
	{"fa ur ku", ClassPasscode, "کد ورود, کدورود, کد فعالسازی, کدفعالسازی, کد فعال سازی, رمز ورود, کد دسترسی, رسائی کوڈ, پاس کوڈ, ڪوڊ"},
	{"fa ur ku", ClassPassword, "پاس ورڈ, کلمه عبور, پسورد, رمز عبور, گذرواژه, گذرواژه*"},
	{"fa ur ku", ClassOTP, "کد تایید, کد تأیید, کدتایید, کد امنیتی, کدامنیتی, رمز پویا, رمز یکبار مصرف, رمز یکبارمصرف, کد یکبار مصرف, کد احراز هویت, رمز دوم, کد اعتبارسنجی, تصدیقی کوڈ, توثیقی کوڈ, ون ٹائم پاس ورڈ, تصدیق کوڈ, سیکیورٹی کوڈ"},

	{"he", ClassCode, "קוד, הקוד, קודי, לקוד, בקוד, קודך"},
	{"he", ClassPasscode, "קוד גישה, קוד הגישה, קוד כניסה, קוד הכניסה, קוד הפעלה"},
	{"he", ClassPassword, "סיסמה*, סיסמת*, הסיסמה, סיסמא*, הסיסמא"},
	{"he", ClassOTP, "קוד אימות, קוד האימות, קוד אבטחה, קוד האבטחה, קוד חד פעמי, הקוד החד פעמי, סיסמה חד פעמית, הסיסמה החד פעמית, קוד זיהוי, קוד התחברות"},

	{"hi mr ne", ClassCode, "कोड*, पिन, संकेतांक, टोकन"},
	{"hi mr ne", ClassPasscode, "पासकोड*, एक्सेस कोड, पहुँच कोड, प्रवेश कोड"},
	{"hi mr ne", ClassPassword, "पासवर्ड*"},
	{"hi mr ne", ClassOTP, "सत्यापन कोड*, पुष्टि संख्या, सत्यापन संख्या, पुष्टि कोड*, एकमुश्त पासवर्ड, पुष्टिकरण कोड*, सुरक्षा कोड*, ओटीपी, वन टाइम पासवर्ड, वेरिफिकेशन कोड*, एक बार का पासवर्ड, प्रमाणीकरण कोड*, पडताळणी कोड*, प्रमाणिकरण कोड*, लॉगिन कोड*"},

	{"bn as", ClassCode, "কোড*, পিন"},
	{"bn as", ClassPasscode, "পাসকোড*, অ্যাক্সেস কোড*"},
	{"bn as", ClassPassword, "পাসওয়ার্ড*"},
	{"bn as", ClassOTP, "যাচাইকরণ কোড*, যাচাই কোড*, ভেরিফিকেশন কোড*, ওটিপি, নিরাপত্তা কোড*, নিশ্চিতকরণ কোড*, একবারের পাসওয়ার্ড"},

	{"gu pa or", ClassCode, "કોડ*, ਕੋਡ*, କୋଡ*, ਪਿੰਨ"},
	{"gu pa or", ClassOTP, "ચકાસણી કોડ*, ઓટીપી, ਤਸਦੀਕ ਕੋਡ*, ਪੁਸ਼ਟੀਕਰਨ ਕੋਡ*, ਓਟੀਪੀ, ଯାଞ୍ଚ କୋଡ*, ଓଟିପି"},

	{"ta te kn ml si", ClassCode, "குறியீடு*, குறியீட்*, కోడ్*, ಕೋಡ್*, കോഡ്*, കോഡ*, കേതం, කේතය, කේත*"},
	{"ta te kn ml si", ClassPassword, "கடவுச்சொல்*, పాస్‌వర్డ్*, ಪಾಸ್‌ವರ್ಡ್*, പാസ്‌വേഡ്*, මුරපදය*"},
	{"ta te kn ml si", ClassOTP, "சரிபார்ப்புக் குறியீ*, சரிபார்ப்பு குறியீ*, ధృవీకరణ కోడ్*, ధ్రువీకరణ కోడ్*, ಪರಿಶೀಲನಾ ಕೋಡ್*, ಪರಿಶೀಲನೆ ಕೋಡ್*, സ്ഥിരീകരണ കോഡ്*, പരിശോധനാ കോഡ്*, സത്യാപന കോഡ്*, සත්‍යාපන කේත*, ఓటీపీ, ಒಟಿಪಿ, ഒടിപി, ஓடிபி"},

	{"th lo km my", ClassCode, "รหัส, โค้ด, ລະຫັດ, លេខកូដ, កូដ, ကုဒ်, ပင်"},
	{"th lo km my", ClassPasscode, "รหัสเข้าใช้งาน, รหัสเข้าถึง, รหัสเปิดใช้งาน"},
	{"th lo km my", ClassPassword, "รหัสผ่าน, ລະຫັດຜ່ານ, ពាក្យសម្ងាត់, စကားဝှက်"},
	{"th lo km my", ClassOTP, "รหัสยืนยัน, รหัสยืนยันตัวตน, รหัสโอทีพี, รหัสความปลอดภัย, รหัสผ่านครั้งเดียว, รหัสใช้ครั้งเดียว, รหัสตรวจสอบ, โอทีพี, รหัสรักษาความปลอดภัย, รหัสผ่านแบบใช้ครั้งเดียว, รหัสลับ, ລະຫັດຢືນຢັນ, លេខកូដផ្ទៀងផ្ទាត់, កូដផ្ទៀងផ្ទាត់, លេខកូដបញ្ជាក់, အတည်ပြုကုဒ်"},

	{"vi", ClassCode, "nhập mã, dùng mã, sử dụng mã, mã gồm, mã này, mã dưới đây, mã sau đây, mã bên dưới, gửi mã, mã có, bằng mã, với mã, bang ma, nhap ma, dung ma, mã số, mã code, ma so, ma code"},
	{"vi", ClassPasscode, "mã truy cập, mã kích hoạt, ma truy cap, ma kich hoat"},
	{"vi", ClassPassword, "mật khẩu, mat khau"},
	{"vi", ClassOTP, "mã xác nhận, mã xác minh, mã xác thực, mã bảo mật, mã otp, ma otp, mã đăng nhập, mật khẩu một lần, mật khẩu dùng một lần, mã an toàn, mã kiểm tra, mã dùng một lần, mã pin, mã của bạn, mã sau"},

	{"id ms tl jv", ClassCode, "kode, kod, kodenya, ~kodigo, kodmu, kode anda, sandi"},
	{"id ms tl jv", ClassPasscode, "kode akses, kod akses, kode aktivasi, kode sandi, kod pengaktifan, kode konfirmasi"},
	{"id ms tl jv", ClassPassword, "kata sandi, kata laluan"},
	{"id ms tl jv", ClassOTP, "kode verifikasi, kode rahasia, kod pengesahan, kode keamanan, kod keselamatan, kode otentikasi, kode otp, kod verifikasi, kata sandi sekali pakai, kode sekali pakai, kode masuk, kod log masuk, verification na code, verification code na, kodigo ng beripikasyon, kode pengesahan, kod laluan sekali"},

	{"sw af eu cy ga mt eo lb", ClassCode, "msimbo, nambari ya siri, codicem, kode, kodea, cod, cód, kodo, kodon, kodiċi"},
	{"sw af eu cy ga mt eo lb", ClassOTP, "msimbo wa uthibitishaji, nambari ya kuthibitisha, nambari ya uthibitisho, nambari yako ya uthibitisho, msimbo wako wa uthibitishaji, msimbo wa uthibitisho, verifikasiekode, verifikasie kode, bevestigingskode, sekuriteitskode, egiaztapen kode*, cód fíoraithe, cód deimhnithe, cod dilysu, kontrolkodo*, konfirmkodo*, verifikatiounscode"},

	{"zh", ClassPassword, "密码, 密碼, 口令"},
	{"zh", ClassCode, "代码, 代碼, 验证号, 認證號"},
	{"zh", ClassPasscode, "激活码, 啟用碼, 启用码, 访问码, 訪問碼, 存取碼, 通行码, 通行碼, 访问代码, 通行密码, 存取代碼, 通关码, 密碼代碼, 确认码, 確認碼, 確認代碼, 确认代码, 注册码, 註冊碼, 绑定码, 綁定碼, 找回码, 重置码, 邮箱码"},
	{"zh", ClassOTP, "手机验证码, 手機驗證碼, 手机动态码, 手機動態碼, 手机校验码, 手机动态密码, 验证码, 驗證碼, 校验码, 校驗碼, 认证码, 認證碼, 动态码, 動態碼, 动态密码, 動態密碼, 安全码, 安全碼, 登录码, 登入碼, 登錄碼, 一次性密码, 一次性密碼, 一次性代码, 短信码, 簡訊碼, 随机码, 随机密码, 短信密码, 动态口令, 驗證代碼, 验证代码, 識別碼驗證, 认证密码, 验证密码, 安全代码, 安全代碼, 單次密碼, 临时密码, 臨時密碼, 检验码, 授权验证码"},

	{"ja", ClassCode, "コード, 暗証番号, ピンコード, 番号を入力, 番号をご入力, 番号の入力, 数字を入力, 数字をご入力, 桁の数字, 桁の番号, 数列を入力"},
	{"ja", ClassPasscode, "パスコード, アクセスコード, アクティベーションコード, 確認番号, 確認コード"},
	{"ja", ClassPassword, "パスワード, パスフレーズ"},
	{"ja", ClassOTP, "認証コード, 検証コード, セキュリティコード, セキュリティーコード, ワンタイムパスワード, ワンタイムコード, ワンタイムパスコード, 認証番号, ログインコード, 二段階認証コード, 本人確認コード, 認証キー, 確認キー, 検証番号, 認証用コード, 認証パスワード, サインインコード, 使い捨てパスワード, 一時パスワード, 仮パスワード, 認証ナンバー, ワンタイム認証番号, 本人確認番号, 本人確認用番号, 確認用コード, 確認用番号, 照合番号, 照合コード"},

	{"ko", ClassCode, "코드, 핀번호"},
	{"ko", ClassPasscode, "액세스 코드, 접근 코드, 접속 코드, 패스코드, 입장 코드"},
	{"ko", ClassPassword, "비밀번호, 비밀 번호, 패스워드, 암호"},
	{"ko", ClassOTP, "인증번호, 인증 번호, 인증코드, 인증 코드, 확인코드, 확인 코드, 보안코드, 보안 코드, 일회용 비밀번호, 임시 비밀번호, 임시비밀번호, 일회용 코드, 로그인 코드, 로그인코드, 검증 코드, 확인번호, 확인 번호, 일회성 코드, 일회용비밀번호, 본인확인 번호, 인증 암호"},
}

// qualifiers are the words around a label: which code it is, and how it is joined to it.
var qualifiers = []vocabulary{
	{"all", ClassFresh, "valid, valide, valides, validity, valido, valida, válido, válida"}, // no verb, as "valider" is
	{"en", ClassVerify, "confirm your email, confirm your e mail, confirm your address, confirm your identity, confirm it's you, confirm this is you, log you in, logs you in, sign you in, signs you in, let you in, lets you in, it's really you, it is really you, it's you, really you, sure it's you, verif*, authent*, authori*, login, log in, logging in, logged in, signin, sign in, signing in, sign on, security, secure, 2fa, mfa, two factor, two step, multi factor, 2 step, identity, passwordless, sms, validat*, 3d secure, log into, log on, sign up, signup, signing up, register, recover*, reset, magic, identification, sign into"},
	{"en", ClassConfirm, "registration, approve*, approval, consent, confirm*, access, activat*, unlock*, email address, your email, complete"},
	{"all", ClassConfirm, "sign, signing, signature, sottoscriz*, esign, e sign, podpis*, unterschreib*, unterzeichn*, signatur, signier*, signer, signez, firmar, firmare, assinar, imza*, подписан*, підписан*, underskri*, signera*, allekirjoit*, aláír*, semnare, semna, υπογραφ*, توقيع, التوقيع, חתימה, ký số, tanda tangan, 签署, 簽署, 署名, 서명"},
	{"en", ClassOnce, "one time, onetime, single use, temporary, temp, throwaway, dynamic"},
	{"en", ClassEnter, "enter, enters, entering, use, using, type, input, provide, submit, paste, copy, insert, key in, typing, type in, fill in, pop, put, punch in, write"},
	{"en", ClassIs, "is, are, below is, =, reads"},
	{"en", ClassOf, "of, the, a, an, your, this"},

	{"all", ClassVerify, "återställ*, nulstil*, tilbakestill*, lähtesta*, visszaállít*, sıfırla*, zresetow*, resetow*, resetov*, obnoven*, resetare*, resetar*, сброс*, скидан*, нулиране*, επαναφορ*, إعادة تعيين, استعادة كلمة, بازنشانی, بازیابی, איפוס, שחזור, रीसेट, রিসেট, รีเซ็ต, đặt lại, khôi phục, atur ulang, setel ulang, 재설정, 초기화, 重設, 重设, 忘记密码, 忘記密碼, 再設定"},

	{"all", ClassConfirm, "पुष्टि, पुष्टि करें, לוודא, לאשר, تأكد, للتأكد, make sure it's, freizugeben, freizuschalten, genehmig*, approuver, aprobar, aprueb*, aprobe*, aprovar, aprove*, approvare, approva, goedkeur*, goed te keuren, godkänn*, godkjenn*, hyväksy*, zatwierdz*, zatwierdź, schválit, schvaleni*, schváliť, jóváhagy*, aprobare, aproba, одобр*, схвал*, утвърд*, odobri*, έγκριση, εγκρίν*, الموافقة, לאשר, स्वीकृत, อนุมัติ, phê duyệt, menyetujui, meluluskan"},
	{"de", ClassVerify, "einzuloggen, anzumelden, zurückzusetzen, wiederherzustellen, melden sie sich an, melde dich an, meldest du dich, meldest du dich an, loggen sie sich ein, logge dich ein, loggst du dich ein, verifi*, authenti*, anmeld*, einlogg*, sicherheit*, bestätig*, bestaetig*, legitim*, identi*, prüf*, login*, registrier*, zurücksetz*, wiederherstell*, autorisier*, einrichten"},
	{"de", ClassConfirm, "zugang*, zugriff*, aktivier*, freischalt*, freigabe*"},
	{"de", ClassOnce, "einmal*, vorläufig*, provisorisch*, temporär*, vorübergehend*"},
	{"de", ClassEnter, "eingabe von, eingabe der, eingeben, gib, geben, verwende*, benutze*, nutze*, nutzen, gebe, tippe, tippen, trage, tragen, eintragen, benutzen, kopiere, kopieren, nimm"},
	{"de", ClassIs, "ist, lautet, sind"},
	{"de", ClassOf, "der, die, das, den, des, dein, deine, deiner, deinen, ihr, ihre, ihrer, ihren"},

	{"nl", ClassVerify, "inlog*, aanmeld*, beveilig*, bevestig*, identit*"},
	{"nl", ClassConfirm, "toegang*, activeer*, activer*"},
	{"nl", ClassOnce, "eenmalig*, tijdelijk*"},
	{"nl", ClassEnter, "gebruik, voer, invoeren, vul, typ, vul in, voer in, vul hier, typ in, toets, toets in, plak, kopieer"},
	{"nl", ClassOf, "het, van, uw, je, jouw"},

	{"da no sv", ClassVerify, "bekræft*, bekreft*, bekräft*, sikker*, säker*, logg*, log ind, logge inn, logga in, innlogg*, inlogg*, godkend*, autenti*, pålogg*, login*, identitet*"},
	{"da no sv", ClassConfirm, "adgang*, tilgang*, aktiver*, åtkomst*"},
	{"da no sv", ClassOnce, "engang*, engång*, midlertidig*, tillfällig*"},
	{"da no sv", ClassEnter, "brug, bruk, använd, ange, indtast, skriv, oppgi, tast, skriv inn, skriv in, tast inn, legg inn, fyll i, fyll inn, slå in, knappa in, kopiera, kopier, anvend, benyt, benytt"},
	{"da no sv", ClassIs, "er, är"},
	{"da no sv", ClassOf, "din, ditt, dit, dine, af, av, til, til at, för att, for å"},

	{"fi et", ClassVerify, "kirjaud*, vahvist*, todenn*, turva*, kirjaut*, tunnist*, kinnit*, sisselog*, varmistus*"},
	{"fi et", ClassConfirm, "pääsy*, aktivoin*"},
	{"fi et", ClassOnce, "kertakäyt*, ühekord*, väliaikai*"},
	{"fi et", ClassEnter, "syötä, käytä, kirjoita, anna, sisesta, kasuta, näppäile, kopioi, trüki, sisestage, kasutage"},
	{"fi et", ClassOf, "sinun, teie, sinu"},

	{"fr", ClassVerify, "vérif*, authentif*, connexion, connecter, connectez, sécuri*, identi*, valid*, inscription, autoris*, associer, appairer"},
	{"fr", ClassConfirm, "confirm*, accès, accéder, activ*"},
	{"fr", ClassVerify, "récupér*, réinitialis*, oubli*"},
	{"fr", ClassOnce, "usage unique, temporaire, provisoire, unique"},
	{"fr", ClassEnter, "entrez, saisissez, utilisez, entrer, saisir, utiliser, tapez, saisis, entre, utilise, renseignez, indiquez, recopiez, composez, copiez, collez, tape, rentrez, utilise"},
	{"fr", ClassIs, "est, sont"},
	{"fr", ClassOf, "de, d, du, la, le, les, l, votre, ton, à, pour, pour vous"},

	{"es ca", ClassVerify, "verific*, autentic*, seguridad, iniciar sesión, inicio de sesión, identi*, autoriz*, seguretat, ingreso, ingresar, entrar, registro, registrar su, registrar tu, registrar el, registrar seu, registrar o, validaci*, validar*"},
	{"es ca", ClassConfirm, "confirm*, acceso, acceder, activa*, accés, firma"},
	{"es ca", ClassVerify, "recuper*, restablec*, restaur*"},
	{"es ca", ClassOnce, "un solo uso, temporal, provisional, único, única, dinámic*, d'un sol ús"},
	{"es ca", ClassEnter, "introduce, introduzca, ingrese, ingresa, usa, use, utilice, utiliza, escribe, escriba, introdueix, teclear, teclea*, teclee, digita, digite, introducir, ingresar, escribir, coloca, coloque, anota, anote, copia, copie, pega, pegue, pon, ponga, escriu, fes servir, utilitza"},
	{"es ca", ClassIs, "es, és, son, será"},
	{"es ca", ClassOf, "del, el, tu, su, para, un, una, vuestro, per a"},

	{"pt", ClassVerify, "verific*, autentic*, segurança, autenticação, fazer login, iniciar sessão, entrar, identid*"},
	{"pt", ClassConfirm, "acesso, acessar, aceder, ativa*, confirm*"},
	{"pt", ClassVerify, "recuperação, redefini*, repor"},
	{"pt", ClassOnce, "uso único, provisóri*, temporári*, descartável"},
	{"pt", ClassEnter, "digite, insira, utilize, introduza, informe, escreva, preencha, copie, cole, coloque, insere, introduz"},
	{"pt", ClassIs, "é, são"},
	{"pt", ClassOf, "da, do, dos, o, seu, sua, teu, para"},

	{"it", ClassVerify, "verific*, autentic*, sicurezza, accedere, convalid*, identit*, login, autorizz*, registra*"},
	{"it", ClassConfirm, "conferm*, accesso, attiva*"},
	{"it", ClassVerify, "recuper*, reimpost*, ripristin*, registrazione, registrarti"},
	{"it", ClassOnce, "monouso, provvisori*, temporane*, usa e getta, una tantum"},
	{"it", ClassEnter, "inserisci, inserisca, inserire, usa, utilizza, digita, immetti, scrivi, incolla, copia, inserite, usi, utilizzi, digiti, riporta"},
	{"it", ClassIs, "è"},
	{"it", ClassOf, "di, della, dello, dell, il, tuo, tua, suo, per"},

	{"ro", ClassVerify, "verificare, autentific*, siguranț*, securitate, conectare, identit*"},
	{"ro", ClassConfirm, "confirmare, acces, activare"},
	{"ro", ClassOnce, "unică, unic, temporar*"},
	{"ro", ClassEnter, "introdu, introduceți, folosește, folosiți, utilizați, introduceti, tastează, tastați, scrie, scrieți, copiază, utilizează"},
	{"ro", ClassIs, "este"},
	{"ro", ClassOf, "dvs, tău, pentru"},

	{"pl", ClassVerify, "weryfik*, uwierzyteln*, autoryz*, zalogow*, logowan*, bezpiecz*, zweryfik*, tożsamo*"},
	{"pl", ClassConfirm, "potwierdz*, dostęp*, aktyw*"},
	{"pl", ClassOnce, "jednorazow*, tymczasow*"},
	{"pl", ClassEnter, "przepisz, wpisać, wprowadzić, wpisz, wprowadź, użyj, podaj, skorzystaj, wklej, wstukaj, użyć, wprowadzaj, wpisując, skopiuj, podać"},
	{"pl", ClassIs, "jest, brzmi"},
	{"pl", ClassOf, "do, dla, twój, twoj, twoje, aby"},

	{"cs sk", ClassVerify, "overi*, overen*, overov*, overte, přihl*, prihl*, bezpečn*, autoriz*, verifik*, totožno*"},
	{"cs sk", ClassConfirm, "potvr*, přístup*, prístup*, aktivač*"},
	{"cs sk", ClassOnce, "jednoráz*, dočasn*"},
	{"cs sk", ClassEnter, "zadejte, zadajte, použijte, použite, zadej, zadaj, vložte, opište, opíšte, napište, napíšte, vyplňte, zkopírujte, skopírujte, vlož, zadat"},
	{"cs sk", ClassIs, "je, zní, znie"},
	{"cs sk", ClassOf, "váš, vas, vaš, tvůj, pro, pre, k"},

	{"is", ClassVerify, "innskrán*, staðfest*, auðkenn*, öryggis*, endurstill*"},

	{"sl hr sr bs", ClassVerify, "prever*, preizkus*, ponastav*, poništ*, verifik*, provjer*, prover*, prijav*, sigurnos*, bezbednos*, varnost*, autentif*"},
	{"sl hr sr bs", ClassConfirm, "potvrd*, potrdi*, pristup*, dostop*"},
	{"sl hr sr bs", ClassOnce, "jednokrat*, enkrat*, privremen*, začasn*"},
	{"sl hr sr bs", ClassEnter, "unesite, unesi, upišite, vnesite, koristite, uporabite, iskoristite, vpišite, vtipkajte, ukucajte, kopirajte, uporabi, koristi, upiši, unijeti, uneti"},
	{"sl hr sr bs", ClassOf, "vaš, tvoj, za"},

	{"hu", ClassVerify, "ellenőrz*, hitelesít*, biztons*, bejelentkez*, igazol*, azonosít*"},
	{"hu", ClassConfirm, "megerősít*, belép*, hozzáfér*, aktivál*"},
	{"hu", ClassOnce, "egyszer haszn*, egyszeri, ideiglenes"},
	{"hu", ClassEnter, "írd, adja meg, add meg, használja, használd, írja, írd be, írja be, gépeld, gépelje, másold, használd fel, üsd be, üsse be"},
	{"hu", ClassOf, "az, ön"},

	{"tr az", ClassVerify, "doğrula*, güvenlik*, kimlik*, oturum aç*, oturumu aç*, təsdiq*, təhlükəsiz*, onay*, onayla*"},
	{"tr az", ClassConfirm, "erişim*, giriş*, aktivasyon*, etkinleştir*"},
	{"tr az", ClassOnce, "tek kullanım*, geçici, birdəfəlik, tek seferlik"},
	{"tr az", ClassEnter, "girin, girin iz, kullanın, giriniz, daxil edin, istifadə edin, yazın, yazınız, gir, yaz, kullan, kopyalayın"},

	{"lv lt", ClassVerify, "verifik*, drošīb*, pieteik*, patvirt*, saug*, prisijung*"},
	{"lv lt", ClassConfirm, "apstiprin*, piekļuv*, prieig*"},
	{"lv lt", ClassOnce, "vienreiz*, vienkart*"},
	{"lv lt", ClassEnter, "ievadiet, įveskite, izmantojiet, naudokite, ieraksti, ievadi, izmanto, įrašykite, suveskite, naudok, įvesk"},
	{"lv lt", ClassOf, "jūsu, jūsų"},

	{"ru uk bg", ClassVerify, "верифи*, аутентиф*, авториз*, безопас*, вход*, войти, увійти, вхід, входу, провер*, перевір*, потвър*, идентиф*, регистрац*, реєстрац*, восстановл*, личность, безпек*, пацверд*, автентиф*, сигурност"},
	{"ru uk bg", ClassConfirm, "подтвержд*, подтвердит*, підтвер*, доступ*, активац*, активаці*, потврд*"},
	{"ru uk bg", ClassOnce, "однораз*, временн*, тимчасов*, еднократ*, једнократ*, аднаразов*"},
	{"ru uk bg", ClassEnter, "введите, введи, используйте, введіть, використайте, въведете, използвайте, укажите, унесите, увядзіце, напишите, впишите, вставьте, наберите, вбейте, скопируйте, используй, ввести, вкажіть, впишіть, скопіюйте, введи, вкажи, впишете, напишете, въведи"},
	{"ru uk bg", ClassIs, "это, це, є, е"},
	{"ru uk bg", ClassOf, "ваш, вашего, твой, для, в, на, за, вашия, вашият, из"},

	{"el", ClassVerify, "επαληθ*, ασφαλ*, συνδε*, ταυτοπο*, αυθεντικ*, εισοδο*"},
	{"el", ClassConfirm, "επιβεβαι*, προσβασ*, ενεργοπ*"},
	{"el", ClassOnce, "μίας χρήσης, μιας χρήσης, προσωριν*"},
	{"el", ClassEnter, "εισάγετε, πληκτρολογήστε, χρησιμοποιήστε, εισαγάγετε, γράψτε, συμπληρώστε, βάλτε, χρησιμοποίησε, πληκτρολόγησε, εισήγαγε, καταχωρίστε"},
	{"el", ClassIs, "είναι"},
	{"el", ClassOf, "σας, σου, ο, τον, το"},

	{"ar fa ur", ClassVerify, "التحقق, تحقق, تسجيل الدخول, الامان, امان, المصادقة, مصادقة, تایید, ورود, امنیتی, احراز هویت, تصدیق, لاگ ان, تأكيد الهوية, هويتك, توثیق, ثبت نام"},
	{"ar fa ur", ClassConfirm, "تأكيد, التأكيد, الوصول, الدخول, تفعيل, التفعيل, فعالسازی, دسترسی"},
	{"ar fa ur", ClassOnce, "لمرة واحدة, یکبار مصرف, یکبارمصرف, مؤقت*, موقت, پویا, ایک بار"},
	{"ar fa ur", ClassEnter, "أدخل, ادخل, استخدم, وارد کنید, درج کریں, استعمال کریں, الرجاء إدخال, أدخلي, إدخال, قم بإدخال, اكتب, اكتبي, استخدمي, استخدام, وارد نمایید, وارد کن, وارد نمائید, داخل کریں"},
	{"ar fa ur", ClassIs, "هو, هي, است, ہے"},
	{"ar fa ur", ClassOf, "الخاص, بك, شما, شمای, آپ کا, لـ"},

	{"he", ClassVerify, "אימות, האימות, אבטחה, התחברות, להתחבר, כניסה, הכניסה, זיהוי, לאמת, להיכנס, להזדהות, הזדהות"},
	{"he", ClassConfirm, "גישה, אישור"},
	{"he", ClassOnce, "חד פעמי*, זמני*"},
	{"he", ClassEnter, "הזן, הזינו, הקלד, הקישו, השתמש, להקליד, להזין, הקלידו, הזיני, הקלידי, הכנס, הכניסו, הכניסי, השתמשו, השתמשי"},
	{"he", ClassIs, "הוא, היא, הינו"},
	{"he", ClassOf, "שלך"},

	{"hi bn ta", ClassVerify, "सत्यापन, सत्यापित, सुरक्षा, साइन इन, लॉगिन, लॉग इन, प्रमाणीकरण, পরিচয়, যাচাই*, সাইন ইন, লগইন, சரிபார்*, உள்நுழை*, ధృవీక*, పరిశీల*, ಪರಿಶೀಲ*, സ്ഥിരീക*, ચકાસ*"},
	{"hi bn ta", ClassOnce, "वन टाइम, एक बार"},
	{"hi bn ta", ClassEnter, "दर्ज करें, उपयोग करें, का उपयोग, दर्ज कीजिए, डालें, লিখুন, প্রবেশ করান, দিন, दर्ज करे, डालिए, टाइप करें, দিয়ে, টাইপ করুন, ব্যবহার করুন, உள்ளிடவும், పేర్కొనండి, నమోదు చేయండి, ನಮೂದಿಸಿ, നൽകുക, દાખલ કરો, ਦਰਜ ਕਰੋ"},
	{"hi bn ta", ClassIs, "है, हो, হল, হলো, হচ্ছে"},
	{"hi bn ta", ClassOf, "आपका, आपकी, আপনার"},

	{"th", ClassVerify, "ยืนยัน, ตรวจสอบ, เข้าสู่ระบบ, ความปลอดภัย, ลงชื่อเข้าใช้"},
	{"th", ClassOnce, "ใช้ครั้งเดียว, ชั่วคราว"},
	{"th", ClassEnter, "กรอก, ใส่, ป้อน, ใช้, พิมพ์, นำรหัส"},
	{"th", ClassIs, "คือ"},
	{"th", ClassOf, "ของคุณ, ของท่าน"},

	{"vi", ClassVerify, "xác nhận, xác minh, xác thực, bảo mật, đăng nhập, xac thuc, xac minh, xac nhan"},
	{"vi", ClassOnce, "một lần, mot lan"},
	{"vi", ClassEnter, "nhập, sử dụng, nhap, dùng, su dung, điền, gõ"},
	{"vi", ClassIs, "là"},
	{"vi", ClassOf, "của, của bạn, cua, quy khach, quý khách"},

	{"sw af", ClassVerify, "uthibitish*, verifieer*, sekuriteit*"},
	{"sw af am", ClassIs, "ni, ነው"},
	{"id ms", ClassVerify, "verifikasi*, memverifikasi, mengonfirmasi, mengkonfirmasi, mengesahkan, mengautentikasi, keamanan, otentikasi, pengesahan, masuk, log masuk, autentikasi, keselamatan, pengesahan"},
	{"id ms", ClassConfirm, "konfirmasi*, akses, aktivasi"},
	{"id ms", ClassOnce, "sekali pakai, sementara, sekali guna"},
	{"id ms", ClassEnter, "masukkan, gunakan, guna, masukan, ketik, ketikkan, isikan, input, salin, pakai, silakan masukkan"},
	{"id ms", ClassIs, "adalah, ialah, yaitu, ay"},
	{"id ms", ClassOf, "anda, untuk, bagi, ng, na, mo"},

	{"zh", ClassVerify, "验证, 驗證, 认证, 認證, 登录, 登入, 登錄, 安全, 身份, 短信, 簡訊, 校验, 注册, 註冊, 重置, 找回"},
	{"zh", ClassConfirm, "确认, 確認, 激活, 啟用, 存取, 访问"},
	{"zh", ClassOnce, "一次性, 动态, 動態, 临时, 臨時, 單次"},
	{"zh", ClassEnter, "输入, 輸入, 使用, 填写, 填寫, 请用, 填入, 請填, 请填, 键入, 鍵入"},
	{"zh", ClassIs, "是, 为, 為"},
	{"zh", ClassOf, "的, 您的, 你的, 您"},

	{"ja", ClassVerify, "認証, 検証, ログイン, サインイン, セキュリティ, 本人確認, 二段階, 登録, 再設定, リセット"},
	{"ja", ClassConfirm, "確認, アクセス, 承認"},
	{"ja", ClassOnce, "ワンタイム, 一回限り, 一時的"},
	{"ja", ClassEnter, "入力, 使用, ご入力, ご利用"},
	{"ja", ClassIs, "は, です"},
	{"ja", ClassOf, "の, あなたの, お客様の"},

	{"ko", ClassVerify, "인증, 로그인, 보안, 본인확인, 본인 확인, 검증, 가입"},
	{"ko", ClassConfirm, "확인, 승인, 활성화"},
	{"ko", ClassOnce, "일회용, 임시, 일회성"},
	{"ko", ClassEnter, "입력, 사용, 기입, 적어"},
	{"ko", ClassIs, "은, 는, 입니다"},
	{"ko", ClassOf, "의, 귀하의, 회원님의"},

	{"all", ClassOf, "sie, bitte, sie bitte, please, prosím, proszę, lütfen, пожалуйста, будь ласка, por favor, per favore"},
	{"all", ClassPaper, "certificate, certificates, diploma*, credential id, attestation, authenticity, zertifikat*, urkunde*, bescheinigung*, authenticité, certificat, certificado*, diplôme, autenticidad*, atestado*, boletim, certificato*, attestato, autenticità, zaświadczeni*, certyfikat*, dokumentu, osvědčení, potvrzení o, igazolás, belge doğrulama, belgenin, справка, справки, документа, подлинност*, сертификат*, довідк*, сертифікат*, πιστοποιητικ*, شهادة, תעודה, प्रमाण पत्र, प्रमाणपत्र, 证书, 證書, 证明, 證明, 発票, 証明書, 真正性, 증명서, 진위확인, 문서확인번호, giấy chứng nhận, chứng chỉ, sertifikat*, keaslian, ใบรับรอง"},
	{"all", ClassBy, "with, mit, avec, con, com, met, med, cu, z, s, с, з, via, by, ile, dengan"},
	{"all", ClassDigits, "digit, digits, ziffern, stellig*, vierstellig*, funfstellig*, sechsstellig*, achtstellig*, chiffres, digitos, dígitos, cifre, cifras, cijfers, viercijferig*, zescijferig*, siffrig*, cifret, cifrede, sifret, sifrede, cyfrowy, cyfrow*, numeryczn*, mistn*, číseln*, jegyu, számjegyu, haneli, basamaklı, значный, значный код, цифр, цифры, цифровой, 位, 位数, 位數, 桁, 자리"},
	{"all", ClassFresh, "hierdie, tego, temu, tymi, acest, acesta, această, acestui, tento, tohoto, tímto, týmto, tuto, ovaj, ovim, ovog, ezzel, aquest, aquesta, denna, denne, tällä, tätä, šiuo, selle, seda, ezt, dies, dieses, ceci, cela, esto, isto, questo, questa, dit, dette, detta, tämä, toto, это, эти, цей, це, निम्नलिखित, नीचे दिया गया, التالي, التاليه, أدناه, زیر, הבא, следующий, следующего, следующую, следующим, наступний, наступного, следния, παρακάτω, ακόλουθο, ακόλουθος, következő, alábbi, seuraava*, berikut, berikut ini, di bawah ini, ต่อไปนี้, ด้านล่าง, ด้านล่างนี้, naslednj*, sljedeć*, sledeć*, järgnev*, žemiau, šādu, turpmāko"},
	{"all", ClassOf, "เพื่อ, इस, यह, यो, لهذا"},
	{"en", ClassFresh, "new, following, below, above, this, that, unique, special, personal, private, secret, numeric, next, fresh, latest, current, another, correct, right, same, valid, other, alphanumeric, verifying, pairing, linking, deze, diesen, volgende, onderstaande, abaixo, seguinte, siguiente, suivant, dessous, seguente, sotto, poniżej, poniższy, następujący, následující, níže, următor, aşağıdaki, hieronder, unten, nedan, nedenfor, alla, numérico, numerico, numeryczny"},
	{"all", ClassSpoilt, "已确认, 已確認, 已接收, 已通过验证, 受理しました, 접수되었습니다, 접수되었으며, has expired, have expired, had expired, incorrectly, entered incorrect*, entered an incorrect, wrong code*, a wrong, an incorrect, an invalid, mistyped, didn't match, did not match, doesn't match, no longer works, no longer work, falsch*, fehlerhaft*, abgelaufen, abgelehnt, erroné*, a expiré, est expiré, incorrecto*, incorrecta*, erróne*, ha caducado, ha expirado, ha vencido, incorret*, errad*, expirou, expirado, errato, errata, errati, sbagliat*, è scaduto, è scaduta, onjuist*, verkeerd*, is verlopen, felaktig*, fel kod, har gått ut, forkert*, er udløbet, feil kode, er utløpt, väärä*, virheelli*, vanhentunut, vale kood, nieprawidłow*, błędn*, wygasł, chybn*, nesprávn*, neplatný kód, vypršel*, hatalı, yanlış, süresi doldu, неверн*, ошибочн*, истек, истекло, невірн*, неправильн*, минув, закінчився, грешен, изтече, λάθος, λανθασμένο*, έληξε, hibás*, helytelen*, lejárt, greșit*, incorect*, a expirat, غير صحيح*, انتهت صلاحيه, خاطئ*, اشتباه, نادرست, منقضی شد, שגוי*, פג תוקפו, פג תוקפה, गलत, समाप्त हो गया, समाप्त हो गई, ভুল, ไม่ถูกต้อง, หมดอายุแล้ว, nhập sai, không đúng, đã hết hạn, salah, telah kedaluwarsa, 错误的验证码, 错误, 錯誤, 错误的, 已过期, 已過期, 誤った, 誤り, 切れました, 切れています, 期限切れ, 잘못, 만료되었습니다, 틀린, 오류로"},
	{"all", ClassSecret, "keep it to yourself, keep this to yourself, keep it private, never share, don't share, do not share, dont share, not share, only share it if, only share this, keep it secret, keep this code, do not disclose, don't disclose, never disclose, not give this code, don't give this code, never ask you for, never ask for, nicht weitergeben, nicht weiter, niemals weiter, ne le communiquez, ne communiquez, ne partagez, ne le partagez, ne transmettez, no la comparta, no lo comparta, no compartas, no lo compartas, no comparta, não compartilhe, não partilhe, non comunicarlo, non condividere, non condividerlo, non comunicare, deel deze, deel nooit, deel dit, dela inte, dela den inte, lämna aldrig, del den ikke, del ikke, del aldri, älä jaa, nie podawaj, nie udostępniaj, nikomu, nesdělujte, nezdieľajte, никому не, не сообщайте, нікому, не повідомляйте, никого, μην κοινοποι*, paylaşmayın, paylaşmayınız, paylaşma, لا تشارك, در اختیار, אין למסור, אל תשתף, साझा न, শেয়ার করবেন না, ห้ามบอก, อย่าบอก, ห้ามเปิดเผย, khong chia se, không chia sẻ, jangan beri, jangan kasih, jangan berikan, jangan bagikan, rahasiakan, 请勿泄露, 請勿洩漏, 切勿, 勿泄露, 请勿告知, 请勿转发, 勿告知, 勿提供, 教えないで, 共有しない, 알려주지, 공유하지, if this is you, if it's you, if this was you, if it was you"},
	{"all", ClassNever, "never ask*, not ask*, won't ask*, never request*, never call*, never contact*, nie nach, niemals nach, nicht nach ihr*, niemals um ihr*, demanderons jamais, demandera jamais, demandons jamais, demanderont jamais, demanderons pas, nunca te pedi*, nunca le pedi*, nunca pedi*, nunca te solicit*, nunca le solicit*, nunca solicit*, nunca lhe ped*, nunca lhe solicit*, chiederemo mai, chiederà mai, chiede mai, mai chied*, chiederanno mai, nooit om, nooit naar, vragen nooit, vragen u nooit, vragen je nooit, aldrig be, aldrig efter, ber aldrig, beder aldrig, spørger aldrig, aldri be, aldri spør*, spør aldri, ber aldri, emme koskaan, nigdy nie pros*, nigdy nie popros*, nigdy nie pyta*, nigdy nie zapyta*, nikdy nebudeme, nikdy nepož*, nikdy nežiad*, soha nem kér*, niciodată nu*, никогда не запраш*, никогда не спраш*, никогда не прос*, никогда не попрос*, ніколи не запит*, ніколи не прос*, ніколи не попрос*, никога не иск*, никога няма, ποτέ δεν ζητ*, ποτέ δεν θα, asla istem*, asla sorm*, hiçbir zaman istem*, لن نطلب, لا نطلب, لن تطلب, हीं माँगते, नहीं मांगते, नहीं मांगेंगे, नहीं माँगेंगे, จะไม่ขอ, ไม่มีนโยบาย, không bao giờ yêu cầu, không bao giờ hỏi, tidak pernah meminta, tidak akan meminta, 不会索要, 不会向您索, 不會向您索, 不会索取, 不會索取, 绝不会, 絕不會, お聞きすること, お尋ねすること, 伺うこと, 요구하지 않, 묻지 않, 요청하지 않"},
	{"all", ClassExample, "such as, e.g, for example, for instance, zum beispiel, z.b, beispielsweise, par exemple, por ejemplo, por exemplo, ad esempio, bijvoorbeeld, till exempel, for eksempel, esimerkiksi, na przykład, např, například, például, de exemplu, örneğin, например, наприклад, για παράδειγμα, ví dụ, misalnya, contohnya, 例如, 比如, 例えば, 예를 들어, مثلا, مثال, לדוגמה, उदाहरण"},
	{"all", ClassStale, "does not work, doesn't work, not working, is wrong, did not work, didn't work, mismatch, rejected, rejects, reject, refuses, refused, failed, denied, recorded, logged, redeemed, consumed, was used, has been used, was entered, was accepted, incorrect, old, previous, previously, expired, former, earlier, invalid, alte, alter, altes, ancien, anterior, vecchio, oud, oude, старый, предыдущий, 旧, 以前的, 以前の, 이전"},
}
