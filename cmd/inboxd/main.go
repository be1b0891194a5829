// Command inboxd is the inbox server: `inboxd serve` runs it, and `inboxd admin` sends commands to
// a running server over its admin socket. It only reads flags, connects the packages and orders
// their start and stop. It contains no rules of the product.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"inboxd/cmd/inboxd/operator"
	"inboxd/internal/base/version"
)

type commandLine struct {
	Config  configFile       `help:"TOML file with any of the flags as keys." placeholder:"FILE"`
	Version kong.VersionFlag `help:"Print the version." env:"-"`

	Serve serveCommand     `cmd:"" help:"Run the server."`
	Admin operator.Command `cmd:"" help:"Operate a running server over its admin socket."`
	Ready readyzCommand    `cmd:"" name:"readyz" help:"Check whether a server is ready: exit 0 if it is, otherwise 1. For containers and scripts."`
	Print versionCommand   `cmd:"" name:"version" help:"Print the version."`
	Check checkCommand     `cmd:"" help:"Check a data folder and report damage: exit 0 intact, 1 damaged, 2 not readable."`
}

func main() {
	var cli commandLine
	ctx := kong.Parse(&cli, kongOptions()...)
	if err := ctx.Run(&cli.Admin); err != nil {
		if code := exitCode(0); errors.As(err, &code) {
			os.Exit(int(code))
		}
		fmt.Fprintln(os.Stderr, "inboxd: "+operator.ErrorSentence(err))
		os.Exit(1)
	}
}

func kongOptions() []kong.Option {
	return []kong.Option{
		kong.Name("inboxd"),
		kong.Vars{"version": version.ProgramLine("inboxd")},
		kong.Description("E-mail inboxes for software agents: create inboxes, receive mail over SMTP, read one-time codes over HTTP."),
		kong.DefaultEnvars("INBOXD"),
		kong.PostBuild(keepServerVariables),
		kong.ValueFormatter(helpWithDefault),
		kong.Configuration(readTOML),
		kong.ShortUsageOnError(),
	}
}
