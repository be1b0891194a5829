package operator

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"inboxd/internal/core/domain"
	"inboxd/internal/core/domain/lookup"
)

type dkimShow struct{}

// Run implements the command.
func (dkimShow) Run(server *Command) error {
	var zone string
	if err := server.callServer("/dkim/show", struct{}{}, &zone); err != nil {
		return err
	}
	fmt.Print(zone)
	return nil
}

// showDKIM responds with the records of the service domain. It creates the keys if they do not
// exist yet.
func (s *Socket) showDKIM(ctx context.Context, _ struct{}) (any, error) {
	records, err := s.System.ServiceRecords(ctx)
	return domain.ZoneFile(records), err
}

type dnsCommand struct{ listFormat }

// Run implements the command. It exits with 1 if a record is missing or could not be looked up.
func (c *dnsCommand) Run(server *Command) error {
	var shown []lookup.ServiceRecord
	if err := server.callServer("/dns", struct{}{}, &shown); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', 0)
	c.printHead(w, "\tTYPE\tNAME\tWANTED\tSHOWN")
	missing := 0
	for _, one := range shown {
		if !one.OK {
			missing++
		}
		if c.JSON {
			if err := printLines([]lookup.ServiceRecord{one}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", dnsVerdict(one), one.Type, one.Name, shortenLine(one.Want), shortenLine(foundRecords(one)))
	}
	if err := w.Flush(); err != nil || missing == 0 {
		return err
	}
	return fmt.Errorf("%d of %d records are missing, differ or are unknown. Publish the values in the column WANTED", missing, len(shown))
}

func dnsVerdict(one lookup.ServiceRecord) string {
	switch {
	case one.OK:
		return "ok"
	case one.Err != "":
		return "unknown"
	case len(one.Has) == 0:
		return "missing"
	}
	return "differs"
}

// shortenLine limits a text to the width of a screen; `dkim show` prints keys completely.
func shortenLine(text string) string {
	if len(text) > 60 {
		return text[:57] + "..."
	}
	return text
}

func foundRecords(one lookup.ServiceRecord) string {
	if one.Err != "" {
		return "no response: " + one.Err
	}
	return strings.Join(one.Has, " | ")
}

// dnsTimeout limits all lookups together; they run one after the other.
const dnsTimeout = 25 * time.Second

func (s *Socket) lookAtDNS(ctx context.Context, _ struct{}) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, dnsTimeout)
	defer cancel()
	signing, err := s.System.ServiceRecords(ctx)
	if err != nil {
		return nil, err
	}
	return lookup.QueryService(ctx, s.DNS, s.ServiceDomain, s.MXHost, signing), nil
}
