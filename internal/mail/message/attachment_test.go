package message

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// picture is an image of a multipart. Its header determines whether it is displayed.
func picture(n int, header ...string) string {
	return section("aGFsbG8=", append([]string{"Content-Type: image/png", fmt.Sprintf("Content-ID: <i%d@x>", n), "Content-Transfer-Encoding: base64"}, header...)...)
}

func pictures(n int, header ...string) (parts []string) {
	for i := range n {
		parts = append(parts, picture(i, header...))
	}
	return parts
}

func pageOfPictures(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `<img src="cid:i%d%%40x">`, i)
	}
	return section(b.String(), "Content-Type: text/html")
}

func ids(doc *ParsedMessage) (list []int) {
	for _, a := range doc.Attachments {
		list = append(list, a.ID)
	}
	return list
}

func TestFilesComeBeforeImagesThatAreShown(t *testing.T) {
	const pdf = "Content-Type: application/pdf; name=invoice.pdf"
	related := func(page string, parts ...string) string {
		inner := strings.ReplaceAll(page+strings.Join(parts, "")+"--b--", "--b", "--r")
		return section(inner, "Content-Type: multipart/related; boundary=r")
	}
	inline := "Content-Disposition: inline; filename=a.png"
	for _, c := range []struct {
		name, mail string
		ids        []int
		omitted    int
	}{
		{"an invoice behind images", multipartMail("mixed", related(pageOfPictures(12), pictures(12, inline)...), section("x", pdf)), []int{13, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3},
		{"images by their reference alone", multipartMail("mixed", append(append([]string{pageOfPictures(12)}, pictures(12, "Content-Disposition: attachment; filename=a.png")...), section("x", pdf))...), []int{13, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3},
		{"images by their place alone", multipartMail("mixed", related(section("<p>x", "Content-Type: text/html"), pictures(12, inline)...), section("x", pdf)), []int{13, 1, 2, 3, 4, 5, 6, 7, 8, 9}, 3},
		{"pictures that nothing shows are files", multipartMail("mixed", append(pictures(12), section("x", pdf))...), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 3},
		{"files between images", multipartMail("mixed", pageOfPictures(9), picture(0), picture(1), section("x", pdf), picture(2), picture(3), picture(4), section("y", pdf), picture(5), picture(6), picture(7), picture(8)), []int{3, 7, 1, 2, 4, 5, 6, 8, 9, 10}, 1},
		{"ten keep their order", multipartMail("mixed", append(append([]string{pageOfPictures(9)}, pictures(9)...), section("x", pdf))...), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0},
		{"files alone", multipartMail("mixed", strings.Repeat(section("x", pdf), 25)), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 15},
	} {
		raw := []byte(c.mail)
		doc := Parse(raw)
		if got := ids(doc); !reflect.DeepEqual(got, c.ids) || doc.AttachmentsOmitted != c.omitted {
			t.Errorf("%s: %v and %d omitted, want %v and %d", c.name, got, doc.AttachmentsOmitted, c.ids, c.omitted)
		}
		checkDocument(t, raw, doc)
		var facts ParsedMessage
		ParseFacts(&facts, raw)
		if !reflect.DeepEqual(facts.Attachments, doc.Attachments) || facts.AttachmentsOmitted != doc.AttachmentsOmitted {
			t.Errorf("%s: facts %+v", c.name, facts.Attachments)
		}
		var places []int
		EachFile(raw, func(place int, f *AttachmentSource) bool {
			places = append(places, place)
			if f.Size != doc.Attachments[place-1].Size {
				t.Errorf("%s: place %d has %d bytes", c.name, place, f.Size)
			}
			return true
		})
		if !reflect.DeepEqual(places, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}) {
			t.Errorf("%s: places %v", c.name, places)
		}
		// A file that is not listed now may be in a list that was stored before.
		for id := 1; id <= len(c.ids)+c.omitted; id++ {
			if _, ok := AttachmentBytes(raw, id); !ok {
				t.Errorf("%s: no file %d", c.name, id)
			}
		}
	}
}

func TestContentID(t *testing.T) {
	for header, want := range map[string]string{
		"Content-ID: <logo@x>":                              "logo@x",
		"Content-Id:  < logo@x > (the logo)":                "logo@x",
		"Content-ID: logo@x":                                "logo@x",
		"Content-ID: <>":                                    "",
		"Content-ID:\nContent-ID: <logo@x>":                 "logo@x",
		"X-A: b":                                            "",
		"Content-ID: <" + strings.Repeat("x", 999) + ">":    "",
		"Content-ID: <caf\xe9@x>":                           "café@x",
		"Content-ID: <logo@x>\nContent-Disposition: inline": "logo@x",
	} {
		doc := Parse([]byte(multipartMail("related", section("<img src='cid:logo@x'>", "Content-Type: text/html"), section("x", "Content-Type: image/png", header))))
		if len(doc.Attachments) != 1 || doc.Attachments[0].ContentID != want {
			t.Errorf("%.40q: %+v", header, doc.Attachments)
		}
	}
}
