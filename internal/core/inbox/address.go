package inbox

import (
	"fmt"
	"slices"
	"strings"

	"inboxd/internal/base/address"
	"inboxd/internal/base/fault"
)

// reservedPrefixes belong to the operator below the service domain (RFC 2142 and common roles).
var reservedPrefixes = []string{
	"abuse", "admin", "administrator", "bounce", "bounces", "daemon", "dmarc", "hostmaster", "info",
	"mailer-daemon", "no-reply", "nobody", "noc", "noreply", "postmaster", "root", "security",
	"support", "tlsrpt", "webmaster",
}

// reservedLabels are names that servers have and that clients try without being asked: mail and
// web, configuration of mail programs (RFC 6186, RFC 8461), name servers, proxies, and names of
// records.
var reservedLabels = strings.Fields(`_acme-challenge _dmarc _domainkey _mta-sts _report _smtp _tls _tcp _udp
	admin api autoconfig autodiscover caldav carddav cpanel dns ftp hostmaster imap imaps isatap ldap localhost login mail mailer-daemon
	mailhost mta mta-sts mx ns ntp openpgpkey pop pop3 pop3s postmaster root sftp simulate smtp smtps ssh ssl sso submission tls vpn
	webdisk webmail webmaster whm wpad www`)

// numberedLabels are also reserved when followed by a number.
var numberedLabels = strings.Fields("dns imap mail mta mx ns pop smtp www")

func isReservedLabel(label string) bool {
	bare := strings.TrimRight(label, "0123456789")
	return slices.Contains(reservedLabels, label) || slices.Contains(numberedLabels, bare)
}

// CheckPrefix enforces the specification, Addresses: 1–64 of a-z 0-9 . _ -, no dot at either end
// and no double dot.
func CheckPrefix(prefix string) error {
	switch {
	case prefix == "":
		return fault.InvalidField("prefix", "is empty")
	case strings.Trim(prefix, prefixCharacters) != "":
		return fault.InvalidField("prefix", "may only contain the characters a-z, 0-9, dot, underscore and hyphen")
	case len(prefix) > 64:
		return fault.InvalidField("prefix", "is too long (%d characters). The limit is 64 characters", len(prefix))
	case prefix[0] == '.', prefix[len(prefix)-1] == '.', strings.Contains(prefix, ".."):
		return fault.InvalidField("prefix", "must not start or end with a dot or contain two dots in a row")
	}
	return nil
}

const prefixCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-"

// CheckLabel enforces an ASCII DNS label for a subdomain (RFC 1035 §2.3.1). Two hyphens in third
// and fourth place belong to encoded labels (RFC 5890 §2.3.1), which are displayed as another name.
// Reserved labels pass, with or without an underscore: Place refuses them with a better reason.
func CheckLabel(label string) error {
	if isReservedLabel(label) {
		return nil
	}
	name, ok := address.CanonicalDomain(label)
	if !ok || name != label || strings.Contains(label, ".") || strings.HasPrefix(label, "xn--") {
		return fault.InvalidField("subdomain", "must be one DNS label: 1 to 63 of a-z, 0-9 and hyphen, without a hyphen at an end or two as third and fourth character")
	}
	return nil
}

// GeneratedPrefix makes two words and four digits from 64 random bits.
func GeneratedPrefix(random uint64) string {
	a, b := randomWords(random)
	return fmt.Sprintf("%s-%s-%04d", a, b, random>>32%10_000)
}

// GeneratedLabel is the dashboard name of an inbox without a chosen one.
func GeneratedLabel(random uint64) string {
	a, b := randomWords(random)
	return strings.ToUpper(a[:1]) + a[1:] + " " + strings.ToUpper(b[:1]) + b[1:]
}

// IsGeneratedLabel reports whether nobody chose the label: it is empty, or GeneratedLabel can make
// it.
func IsGeneratedLabel(label string) bool {
	a, b, _ := strings.Cut(label, " ")
	title := func(list []string, word string) bool {
		return word != "" && word[0] <= 'Z' && slices.Contains(list, strings.ToLower(word[:1])+word[1:])
	}
	return label == "" || title(adjectives, a) && title(nouns, b)
}

// GeneratedSubdomain makes a random DNS label of ten letters and digits.
func GeneratedSubdomain(random uint64) string {
	const alphabet = "abcdefghijkmnpqrstuvwxyz23456789"
	out := make([]byte, 10)
	for i := range out {
		out[i] = alphabet[random&31]
		random >>= 5
	}
	if out[0] < 'a' {
		out[0] = 'n' // some resolvers reject labels that start with a digit
	}
	return string(out)
}

func randomWords(random uint64) (string, string) {
	return adjectives[random&0xffff%uint64(len(adjectives))], nouns[random>>16&0xffff%uint64(len(nouns))]
}

var adjectives = strings.Fields(`amber ample ancient autumn bold brave bright brisk calm candid clear clever cobalt coral
	cosmic crisp curious daring deep eager early earnest easy electric emerald even fair famous fine firm fleet fond frank fresh
	gentle glad golden grand green happy hardy honest humble icy indigo jolly keen kind lively lucid lucky lunar mellow merry
	mighty mild misty modest neat nimble noble northern olive open patient plain polar proud quick quiet rapid ready rosy royal
	rustic scarlet sharp silent silver sleek smart snowy solar solid spry stable steady still sunny swift tidy tranquil true
	upbeat velvet vivid warm western wise witty young zesty`)

var nouns = strings.Fields(`acorn alder anchor arbor aspen badger bay beacon birch bison breeze bridge brook canyon cedar cliff
	cloud comet condor coral cove crane creek dawn delta dolphin dune eagle ember falcon fern field finch fjord forest fox
	garden glacier grove harbor hawk hazel heron hill island ivy jasper juniper lagoon lake lantern lark laurel ledge lily lion
	lotus lynx maple marsh meadow mesa mint moon moss nebula oak oasis ocean orbit orchid otter owl panda path peak pearl pebble
	pine planet plum pond poplar quartz raven reef ridge river robin rocket sage sail shore sky sparrow spruce star stone stream
	summit thistle tiger trail tulip valley violet wave willow wolf wren`)
