// Command inbox-mcp is the tool server: it gives a model access to the inboxes of one key, over
// standard input and output or over HTTP. It only reads flags and the environment, connects the
// packages, and orders start and stop.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"inboxd/internal/base/version"
	"inboxd/internal/core/tools"
)

// commandLine holds the flags and commands. Secrets are better given in the environment.
type commandLine struct {
	BaseURL   string           `name:"base-url" env:"INBOX_BASE_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL of the inbox server (${env}). Default: ${default}"`
	APIKey    string           `name:"api-key" env:"INBOX_API_KEY" placeholder:"KEY" help:"Account key or inbox key. Prefer ${env}, which the process list does not show."`
	HTTP      string           `name:"http" placeholder:"HOST:PORT" help:"Serve streamable HTTP at /mcp on this address, instead of standard input and output."`
	HTTPToken string           `name:"http-token" env:"INBOX_MCP_HTTP_TOKEN" placeholder:"TOKEN" help:"Bearer token that HTTP requests must send. Required unless --http is a loopback address. Prefer ${env}, which the process list does not show."`
	Version   kong.VersionFlag `help:"Print the version."`

	LogLevel string `name:"log-level" default:"info" placeholder:"LEVEL" help:"Minimum level that is logged to standard error: debug, info, warn, error. Default: ${default}"`

	Serve  serveCommand  `cmd:"" default:"1" help:"Serve the tools. This is the default command."`
	Schema schemaCommand `cmd:"" help:"Print the six core tools as function schemas for a model's API."`
	Doctor doctorCommand `cmd:"" help:"Check URL, key, permissions and clock, and which tools this key can use."`
}

func main() {
	if err := runCommand(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "inbox-mcp: "+err.Error())
		os.Exit(1)
	}
}

func runCommand(args []string) error {
	var cli commandLine
	parser, err := kong.New(&cli, kong.Name("inbox-mcp"), kong.Vars{"version": version.ProgramLine("inbox-mcp")}, kong.Description("Serve real e-mail inboxes as tools for a model (Model Context Protocol)."))
	if err != nil {
		return err
	}
	chosen, err := parser.Parse(args)
	if err != nil {
		return err
	}
	warnOfSecrets(chosen)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	chosen.BindTo(ctx, (*context.Context)(nil))
	return chosen.Run(&cli)
}

// warnOfSecrets warns about secrets given as arguments: everybody who can list the processes of the
// machine can read them.
func warnOfSecrets(chosen *kong.Context) {
	better := map[string]string{"api-key": "INBOX_API_KEY", "http-token": "INBOX_MCP_HTTP_TOKEN"}
	for _, element := range chosen.Path {
		if element.Flag == nil || element.Resolved {
			continue
		}
		if variable, secret := better[element.Flag.Name]; secret {
			fmt.Fprintf(os.Stderr, "inbox-mcp: warning: --%s is visible in the process list; set %s instead\n", element.Flag.Name, variable)
		}
	}
}

func (c *commandLine) newLogger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		return nil, fmt.Errorf("--log-level: invalid level %q (debug, info, warn or error)", c.LogLevel)
	}
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})), nil
}

type schemaCommand struct {
	Format string `name:"format" placeholder:"FORMAT" help:"Format of the schemas: openai, anthropic or gemini."`
}

// Run prints what GET /api/v1/tools responds.
func (s *schemaCommand) Run() error {
	b, err := tools.FunctionsJSON(s.Format)
	if err != nil {
		return fmt.Errorf("--format: invalid or missing format. Valid formats: %s", strings.Join(tools.FormatNames(), ", "))
	}
	_, err = os.Stdout.Write(b)
	return err
}
