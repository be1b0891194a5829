package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inboxd/internal/testutil/testtools"
)

const skillFile = "skills/inboxd/SKILL.md"

// TestSkillForm: the skill has the form of Agent Skills (https://agentskills.io).
func TestSkillForm(t *testing.T) {
	head := regexp.MustCompile(`(?s)^---\n(.*?)\n---\n\n# `).FindStringSubmatch(document(t, skillFile))
	if head == nil {
		t.Fatal("it does not begin with YAML and a title")
	}
	fields := map[string]string{}
	for _, line := range strings.Split(head[1], "\n") { // plain scalars in one line each
		name, value, ok := strings.Cut(line, ": ")
		if !ok || fields[name] != "" || strings.ContainsAny(value[:1], "\"'>|[{&*!#%@`") || strings.Contains(value, ": ") || strings.Contains(value, " #") {
			t.Errorf("%q is not one plain field", line)
		}
		fields[name] = value
	}
	for name, form := range map[string]string{
		"name": `^` + filepath.Base(filepath.Dir(skillFile)) + `$`, "description": `^.{50,1000}$`, "license": `^Apache-2\.0$`, "compatibility": `^.{1,500}$`,
	} {
		if !regexp.MustCompile(form).MatchString(fields[name]) {
			t.Errorf("%s is %q", name, fields[name])
		}
		delete(fields, name)
	}
	if len(fields) > 0 {
		t.Errorf("unknown fields: %v", fields)
	}
	if lines := strings.Count(document(t, skillFile), "\n"); lines > 500 {
		t.Errorf("it has %d lines", lines)
	}
}

// TestSkillWorks runs the commands of the skill as printed, with a message that arrives after the
// inbox was created.
func TestSkillWorks(t *testing.T) {
	u := launch(t, filepath.Join(t.TempDir(), "data")).signUp(t, "me@example.test")
	curl := filepath.Dir(testtools.ProgramPath(t, "curl"))
	script := "set -e\nPATH=" + curl + ":$PATH\n"
	for i, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(document(t, skillFile), -1) {
		script += block[1]
		if i == 0 {
			script += `printf 'From: shop@example.com\r\nSubject: Sign in\r\n\r\nYour code is 482913\r\n' | curl -s smtp://$INBOXD_SMTP --mail-from shop@example.com --mail-rcpt "$ADDRESS" -T -` + "\n"
		}
	}
	cmd := u.program(t, t.TempDir(), "sh")
	cmd.Stdin = strings.NewReader(script)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, part := range []string{"The address is ", `"otp_code":"482913"`, `"emails":[{`, `"message_id":`, `{"ok":true}`} {
		if !strings.Contains(string(output), part) {
			t.Errorf("%s is not in\n%s", part, output)
		}
	}
}
