package train

import (
	"slices"
	"strings"
	"unicode"
)

// Tongue guesses in which language a mail is written: by its script, or by small words.
func Tongue(s string) string {
	counts := map[string]int{}
	for _, r := range s {
		if r < 0x80 || !unicode.IsLetter(r) {
			continue
		}
		if i := slices.IndexFunc(scriptNames, func(name string) bool { return unicode.Is(unicode.Scripts[name], r) }); i >= 0 {
			counts[scriptNames[i]]++
		}
	}
	script, most := "Latin", 7
	for _, name := range scriptNames {
		if counts[name] > most {
			script, most = name, counts[name]
		}
	}
	if script == "Han" && counts["Hiragana"] > 2 {
		script = "Hiragana"
	}
	return byWords(s, script)
}

// byWords gives the language of which a text has the most small words, the first in the list of those that
// have as many, or its script when there are none.
func byWords(s, script string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) })
	best, most := script, 0
	for line := range strings.Lines(smallWords[script]) {
		lang, list, _ := strings.Cut(strings.TrimSpace(line), ": ")
		small, n := strings.Fields(list), 0
		for _, w := range words {
			if slices.Contains(small, w) {
				n++
			}
		}
		if n > most {
			best, most = lang, n
		}
	}
	return best
}

var scriptNames = []string{"Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Bengali", "Gujarati", "Gurmukhi", "Tamil", "Telugu", "Kannada", "Malayalam", "Sinhala", "Thai", "Lao", "Khmer", "Myanmar", "Georgian", "Armenian", "Ethiopic", "Hangul", "Hiragana", "Katakana", "Han", "Mongolian", "Oriya"}

// smallWords tell languages of one script apart; of more widely spoken ones first.
var smallWords = map[string]string{
	"Latin": `en: the your is to you and this of for with if not was it has
de: ihr ihre ihren ihrem dein deine deinen der die das den ist und sie du für mit nicht wir zu ein eine um bitte
fr: votre vos vous ton est le les des pour une et ce dans nous pas du la avec sur ne
es: su sus tu tus es el los las para con una por y del usted la en se no
pt: seu sua você é os não com uma o seus em do da para na no se
it: il tuo tua è di per con una che gli del non suo la e sul da
nl: je jouw uw de het een is van voor niet met en om te dit
pl: twój twoje jest do na nie i w się z to kod aby
id: anda kamu adalah untuk dan kode ini yang jangan dengan di
tr: bu ve için ile kodunuz bir siz kodu
vi: của bạn là mã và không để vui
sv: din ditt är och att det för inte du på med om
ro: codul este dvs pentru și nu cu la contul dumneavoastră
cs: váš vaše je na se pro v kód a ne
hu: az a és nem egy kód ön hogy
da: din dit er og det til ikke du på med af dig
no: din ditt er og det til ikke du på med av deg
fi: on ja koodi tämä sinun ei se tai
sk: váš je na sa pre v kód a vaše nie
hr: vaš je za kod i se ne u
sl: vaša je za koda in ne se
et: teie on ja kood see ei
lv: jūsu ir un kods šis nav
lt: jūsų yra ir kodas šis ne
ms: anda ialah untuk dan kod ini yang jangan
sq: juaj është kodi për dhe
sw: yako ni wa ya kwa nambari
tl: ang iyong mo ay sa ng
af: jou is nie die vir en
is: þinn er og til ekki
ca: el teu és per amb codi
az: sizin kodu üçün və bu
uz: sizning kod uchun va bu
eu: zure da eta kodea
cy: eich yw cod yn
ga: do is cód an
gl: o teu é código para`,
	"Cyrillic": `ru: ваш код для и не на в вы никому это мы
uk: ваш код для і не на у ви нікому це та
bg: вашият код за и не на е вие
sr: ваш је за код и не на ви
mk: вашиот е за код и не на
be: ваш код для і не на гэта
kk: сіздің код растау үшін және коды
ky: сиздин код үчүн жана
mn: таны код нь
tg: шумо рамз барои ва`,
	"Arabic": `ar: رمز هو هي من في على لا الخاص
fa: شما کد است را از در به
ur: آپ کا ہے کوڈ میں کو
ku: کۆد بۆ`,
}
