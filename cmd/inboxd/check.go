package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	"inboxd/cmd/inboxd/operator"
	"inboxd/persist"
)

type checkCommand struct {
	Dir    string `arg:"" help:"Data folder that no running server uses, or a backup." type:"path"`
	Repair string `help:"Also write an intact copy of all readable data to this new folder." type:"path" placeholder:"TO"`
}

// exitCode ends the process with a code. Everything was already printed.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit %d", int(c)) }

// Run implements the command. It exits with 0 if everything is intact, 1 if something is damaged,
// and 2 if the folder cannot be read or its copy cannot be written.
func (c *checkCommand) Run() error {
	syscall.Umask(0o077)
	found := 0
	report := func(problem string) {
		found++
		fmt.Println(problem)
	}
	o := persist.Options{Logger: slog.New(slog.DiscardHandler)}
	look := func() (persist.CheckSummary, error) { return persist.CheckFolder(c.Dir, o, report) }
	if c.Repair != "" {
		look = func() (persist.CheckSummary, error) {
			if err := operator.CheckOutside(c.Dir, c.Repair); err != nil {
				return persist.CheckSummary{}, persist.UnusableFolder{Err: err}
			}
			return persist.RepairFolder(c.Dir, c.Repair, o, report)
		}
	}
	sum, err := look()
	if errors.As(err, new(persist.UnusableFolder)) || errors.As(err, new(persist.RepairFailure)) {
		fmt.Fprintln(os.Stderr, "inboxd: "+operator.ErrorSentence(err))
		return exitCode(2)
	}
	if err != nil {
		found++
		fmt.Println(operator.ErrorSentence(err))
	}
	fmt.Printf("%s: %d accounts, %d inboxes, %d messages; %d rows and %d files, %s read; problems: %d\n",
		c.Dir, sum.LiveAccounts, sum.LiveInboxes, sum.MessageCount, sum.RowCount, sum.FileCount, operator.ByteText(sum.TotalBytes), found)
	if sum.LostMessages > 0 {
		fmt.Printf("%s: a repair kept %d messages without their bytes or their parsed content\n", c.Dir, sum.LostMessages)
	}
	if c.Repair != "" && err == nil {
		next := "start the server with it as --data"
		if sum.NeedsKey {
			next = "copy secret.key of a backup into it with mode 600, then start the server with it as --data"
		}
		fmt.Printf("%s: what could be read; %s\n", c.Repair, next)
	}
	if found > 0 {
		return exitCode(1)
	}
	return nil
}
