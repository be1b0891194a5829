package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
)

// writeDebian makes the Debian package of a platform: the programs, the unit with a user of its own,
// and a configuration file that upgrades do not replace.
func (r *release) writeDebian(p platform) error {
	unit, err := r.debianUnit(p)
	if err != nil {
		return err
	}
	file := func(source, target string) *files.Content {
		return &files.Content{Source: source, Destination: target, FileInfo: &files.ContentFileInfo{Mode: 0o644, MTime: r.time}}
	}
	configuration := file("debian/inboxd.toml", "/etc/inboxd.toml")
	configuration.Type = files.TypeConfigNoReplace
	contents := files.Contents{
		configuration,
		file(unit, "/usr/lib/systemd/system/inboxd.service"),
		file("debian/sysusers.conf", "/usr/lib/sysusers.d/inboxd.conf"),
		file("debian/tmpfiles.conf", "/usr/lib/tmpfiles.d/inboxd.conf"),
		file(filepath.Join(r.root, "LICENSE"), "/usr/share/doc/inboxd/copyright"),
		file(filepath.Join(r.root, "NOTICE"), "/usr/share/doc/inboxd/NOTICE"),
		file(filepath.Join(r.root, "CHANGELOG.md"), "/usr/share/doc/inboxd/CHANGELOG.md"),
	}
	programs, err := filepath.Glob(r.folder(p) + "/*")
	if err != nil {
		return err
	}
	for _, path := range programs {
		program := file(path, "/usr/bin/"+filepath.Base(path))
		program.FileInfo.Mode = 0o755
		contents = append(contents, program)
	}
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "inboxd", Arch: p.arch, Version: r.version, Section: "mail", Priority: "optional", MTime: r.time,
		Maintainer:  "The inboxd authors <inboxd@localhost>",
		Description: "inbox server for software agents and test suites\nReceives mail over SMTP and gives programs messages and one-time codes over\nHTTP. Also sends mail, keeps calendars, and calls webhooks.",
		Homepage:    r.repository, License: "Apache-2.0", DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Depends:  []string{"ca-certificates", "init-system-helpers", "systemd | systemd-standalone-sysusers", "systemd | systemd-standalone-tmpfiles"},
			Contents: contents,
			Scripts:  nfpm.Scripts{PostInstall: "debian/postinst", PreRemove: "debian/prerm", PostRemove: "debian/postrm"},
		},
	})
	return r.writeResult(deb.Default.ConventionalFileName(info), func(w io.Writer) error { return deb.Default.Package(info, w) })
}

// debianUnit writes the unit for the package: the program is in /usr/bin, and the user is the one
// that the package creates, so that files have the same owner after every start.
func (r *release) debianUnit(p platform) (string, error) {
	content, err := os.ReadFile(filepath.Join(r.root, "docs/operate/inboxd.service"))
	if err != nil {
		return "", err
	}
	unit := string(content)
	for _, change := range [][2]string{{"ExecStart=/usr/local/bin/", "ExecStart=/usr/bin/"}, {"DynamicUser=yes", "User=inboxd"}} {
		if !strings.Contains(unit, change[0]) {
			return "", fmt.Errorf("inboxd.service has no %s", change[0])
		}
		unit = strings.ReplaceAll(unit, change[0], change[1])
	}
	path := filepath.Join(r.stage, p.arch+".service")
	return path, os.WriteFile(path, []byte(unit), 0o644)
}
