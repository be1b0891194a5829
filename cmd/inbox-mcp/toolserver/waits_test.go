package toolserver

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"inboxd/internal/core/tools"
)

// called calls a tool as the SDK does after checking the arguments.
func (s *Server) called(ctx context.Context, name string, args map[string]any) *mcp.CallToolResult {
	return s.runTool(ctx, name, toolFuncs[name], &mcp.CallToolRequest{Params: &mcp.CallToolParamsRaw{Name: name}}, args)
}

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

// TestWaits runs the scripts of messages and waits in testdata/waits with a virtual clock.
//
//	mail ID [code=C] [age=D] [read]   a message exists, or arrived D ago
//	later D WHAT...                   WHAT (mail, down, up, cancel, stop, sent STATUS) happens D after the next wait began
//	wait TOOL [timeout=N] [times=N]   the responses of the calls, and how long they took
func TestWaits(t *testing.T) {
	datadriven.Walk(t, "testdata/waits", func(t *testing.T, path string) {
		synctest.Test(t, func(t *testing.T) {
			s := &waitStory{service: newService()}
			s.server = s.service.server()
			datadriven.RunTest(t, path, s.play)
		})
	})
}

type waitStory struct {
	service *service
	server  *Server
	later   []func(cancel func())
}

func (s *waitStory) play(t *testing.T, d *datadriven.TestData) string {
	out := ""
	for _, line := range strings.Split(d.Input, "\n") {
		words := strings.Fields(line)
		switch d.Cmd {
		case "there":
			s.happen(t, words, nil)
		case "later":
			after, err := time.ParseDuration(words[0])
			if err != nil {
				t.Fatal(err)
			}
			s.later = append(s.later, func(cancel func()) {
				time.Sleep(after)
				s.happen(t, words[1:], cancel)
			})
		case "wait":
			out += s.wait(t, words)
		}
	}
	return out
}

// value returns the value of a word NAME=VALUE.
func value(words []string, name string) string {
	for _, w := range words {
		if v, ok := strings.CutPrefix(w, name+"="); ok {
			return v
		}
	}
	return ""
}

func (s *waitStory) happen(t *testing.T, words []string, cancel func()) {
	switch words[0] {
	case "mail":
		var id int64
		fmt.Sscan(words[1], &id)
		age, _ := time.ParseDuration(value(words, "age"))
		m := s.service.receive(id, value(words, "code"), age)
		s.service.change(func() { m.IsRead = slices.Contains(words, "read") })
	case "queued":
		s.service.sent("queued")
	case "sent":
		s.service.settle(words[1])
	case "down", "up":
		s.service.change(func() { s.service.down = words[0] == "down" })
	case "lose":
		s.service.change(func() { s.service.lose++ })
	case "encrypted":
		s.service.change(func() { s.service.encrypted = true })
	case "passes":
		d, _ := time.ParseDuration(words[1])
		time.Sleep(d)
	case "cancel":
		cancel()
	case "stop":
		s.server.Stop()
	default:
		t.Fatalf("what is %q?", words[0])
	}
}

// wait makes the calls of a line in parallel, and returns the sorted responses.
func (s *waitStory) wait(t *testing.T, words []string) string {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	args := map[string]any{"address": inboxOfTests, "timeout": 30.0, "message_id": 77.0}
	if v := value(words, "timeout"); v != "" {
		var n float64
		fmt.Sscan(v, &n)
		args["timeout"] = n
	}
	times := 1
	fmt.Sscan(value(words, "times"), &times)
	var all sync.WaitGroup
	for _, f := range s.later {
		all.Go(func() { f(cancel) })
	}
	s.later = nil
	answers := make([]string, times)
	for i := range times {
		all.Go(func() {
			began := time.Now()
			r := s.server.called(ctx, words[0], args)
			answers[i] = fmt.Sprintf("%v: %s\n", time.Since(began).Round(time.Second), brief(r))
		})
	}
	all.Wait()
	slices.Sort(answers)
	return strings.Join(answers, "")
}

// brief returns a result in few words.
func brief(r *mcp.CallToolResult) string {
	if r.IsError {
		return "error: " + textOf(r)
	}
	var v struct {
		OTPCode  string `json:"otp_code"`
		Message  *messageView
		TimedOut bool `json:"timed_out"`
		Next     string
		LastCode *handedOut `json:"last_code"`
		Status   string     `json:"send_status"`
	}
	if err := json.Unmarshal(r.StructuredContent.(json.RawMessage), &v); err != nil {
		return err.Error()
	}
	switch {
	case v.TimedOut && v.LastCode != nil:
		return fmt.Sprintf("timed out, last code in %d: %s", v.LastCode.MessageID, v.Next)
	case v.TimedOut:
		return "timed out: " + v.Next
	case v.Status != "":
		return v.Status
	case v.OTPCode != "":
		return fmt.Sprintf("code %s of %d", v.OTPCode, v.Message.ID)
	}
	return fmt.Sprintf("message %d, read %v, note %q", v.Message.ID, v.Message.IsRead, v.Message.Note)
}

// TestTimeOutListsWhatArrived: a wait for a code that times out returns what arrived in vain, with
// the text of strangers inside the fence.
func TestTimeOutListsWhatArrived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := newService()
		m := service.receive(1, "222222", 20*time.Minute)
		m = service.receive(2, "482913", 2*time.Minute)
		service.change(func() { m.IsRead = true })
		m = service.receive(3, "", time.Minute)
		service.change(func() { m.Candidates = []string{"1234", "56\n78"} })
		r := service.server().called(t.Context(), "wait_for_otp", map[string]any{"address": inboxOfTests, "timeout": 0.0})
		tool, _ := tools.Find("wait_for_otp")
		fitsSchema(t, tool, r.StructuredContent)
		var v struct{ Arrived json.RawMessage }
		if err := json.Unmarshal(r.StructuredContent.(json.RawMessage), &v); err != nil {
			t.Fatal(err)
		}
		if want := `[{"message_id":3,"received_at":"1999-12-31T23:59:00.000Z","from":"from@far.test","subject":"Subject 3","confidence":null,"candidates":["1234","56 78"]},` +
			`{"message_id":2,"received_at":"1999-12-31T23:58:00.000Z","from":"from@far.test","subject":"Subject 2","confidence":0.97,"candidates":["2026"]}]`; string(v.Arrived) != want {
			t.Errorf("arrived: %s", v.Arrived)
		}
		if want := "begins\nmessage 3 from from@far.test, subject \"Subject 3\": no code is certain enough, candidates 1234, 56 78\n" +
			"message 2 from from@far.test, subject \"Subject 2\": code 482913, confidence 0.97, already read\n-----"; !strings.Contains(textOf(r), want) {
			t.Errorf("text: %s", textOf(r))
		}
	})
}
