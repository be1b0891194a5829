# make run and make test do everything that a fresh machine needs; make help lists the rest.
GO      ?= go
FUZZ    ?= 30s
CLONES  ?= 2000
SOAK    ?= 8h
ARGS    ?=
# The newest release, and the commit that a program is built from.
RELEASE := $(shell sed -n 's/^\#\# \([0-9][0-9.]*\) .*/\1/p' CHANGELOG.md | head -n 1)
VERSION ?= $(RELEASE)$(addprefix +,$(shell git describe --always --dirty --exclude '*' 2>/dev/null))
# Of make dist: https://github.com/OWNER/NAME, where the release will be; what to build for.
REPOSITORY ?=
PLATFORMS  ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64
# Rules that start no goroutine: the race detector makes them twenty times slower and has nothing to
# find. make race runs them with it all the same.
PURE   := ./internal/mail/message/... ./internal/mail/icalendar/... ./internal/mail/otp ./internal/core/calendar/... ./http/contract
# Programs as their users start them, for the same reason: what runs at once in them is tested with the
# detector in the packages that they are made of, and here in the tests of RACED; so are those of PURE
# that call it at once.
WHOLE  := ./cmd/... ./bench/...
RACED  := TestMainJob|TestKillUnderLoad|TestWebhooks|TestGoClientEvents|TestPollsAreNeverStale|TestResultsAreCopies
# Tests of one goroutine, of days of a clock that is not the machine's, one that replaces the file system
# under an open store, and one that reads ten thousand rows of it again and again: under the detector the
# engine notes the stack of each read.
ALONE  := TestRetentionRemovesWhatIsOver|TestHangingReceiversDelayNobody|TestOldEventsAreNotShown|TestDomainsAreCheckedByThemselves|TestInboxRoundTrip|TestBitFlips|TestLostTable|TestABackupMakesItsFolder|TestEveryFailedWrite|TestSimulation
# The detector need not watch the hash of passwords, which works in memory of its own and takes half of the
# time of the tests of actors. Only a package without generic code can be left out: the linker keeps one
# copy of each instantiation, and a copy of sync.Map without the detector makes it report false races.
WATCH  := -race -gcflags=golang.org/x/crypto/argon2=-race=false

# What make deps unpacked is found before what the machine has.
export PATH := $(CURDIR)/.deps/bin:$(PATH)

.PHONY: build run page page-all page-figures client-packages client-figures client-reference check quick clean test test-all test-raced test-whole test-clients race ownercheck lint lint-go lint-page house notice otp-train otp-field fuzz bench crash deps soak dist vulncheck help

build: ## the programs, into bin/, stamped with VERSION
	$(GO) build -ldflags '-X inboxd/internal/base/version.stamped=$(VERSION)' -o bin/ ./cmd/...

page: ## the page, from its sources in http/dashboard/web; what it makes is committed
	./.ci/page

client-packages: deps ## the packages of the clients that the server hands out, from their sources in clients; what it makes is committed
	./.ci/clients

page-all: ## the page with every hostile mail in every tab, plain and encrypted; PAGE_SHOTS=DIR keeps pictures of every view
	PAGE_ALL=1 $(GO) test -count=1 -timeout 20m -v -run '^TestPage$$' ./cmd/inboxd

page-figures: ## how quick the page is in a browser, beside its bounds: on a quiet machine, some minutes
	PAGE_FIGURES=1 $(GO) test -count=1 -timeout 20m -v -run '^TestPageFigures$$' ./cmd/inboxd

# A webhook of an agent on this machine may be called; without the flag only public addresses are.
run: ## the server with its defaults, and ARGS: make run ARGS="--log-level info"
	@echo "Compiling the programs (about two minutes the first time, seconds after that)"
	@$(MAKE) --no-print-directory build
	./bin/inboxd serve --webhook-allow 127.0.0.0/8,::1/128 $(ARGS)

clean: ## removes what build, deps and test made
	rm -rf bin dist .deps http/dashboard/web/licences.txt
	find . -name node_modules -type d -prune -exec rm -rf {} +

check: ## lint-go and the quick tests beside it; needs nothing beside Go
	$(MAKE) -j2 lint-go quick

quick:
	$(GO) test -short -vet=off -shuffle=on -p 4 -skip '^($(ALONE))$$' $$($(GO) list ./... | grep -vxF "$$($(GO) list $(WHOLE) ./internal/archtest)")

# deps waits for the network while lint-go compiles; lint-go has vetted what go test would vet once more.
# The two halves run at the same time, the longest packages first; the page is in the shorter one.
test: ## everything that must hold before a change is merged
	@./.ci/progress $(MAKE) test-all

test-all:
	$(MAKE) -j2 deps lint-go
	$(MAKE) -j2 lint-page build
	$(MAKE) -j2 test-raced test-whole

test-raced:
	$(GO) test -vet=off $(WATCH) -shuffle=on -p 2 -timeout 20m -skip '^($(ALONE))$$' ./persist ./actors $$($(GO) list ./... | grep -vxF "$$($(GO) list $(PURE) $(WHOLE) ./internal/archtest)")
	$(GO) test -vet=off $(WATCH) -shuffle=on -run '^($(RACED))$$' ./cmd/inboxd ./internal/mail/otp
	$(GO) test -vet=off -run '^TestPage$$' ./cmd/inboxd

test-whole:
	$(GO) test -vet=off -shuffle=on -p 1 -timeout 20m -skip '^TestPage$$' $(WHOLE) $(PURE)
	$(GO) test -vet=off -shuffle=on -p 1 -run '^($(ALONE))$$' ./persist ./actors
	$(GO) test -vet=off -shuffle=on -p 1 -tags failpoints ./internal/intake/ingest ./cmd/inboxd -run Failpoint
	./.ci/must-fail-without-sync

test-clients: deps build ## generators and linters of the contract, the Go client as others get it, /docs in a browser
	$(GO) test -count=1 -timeout 20m -run 'TestGeneratedClients|TestGoClientIsImportable|TestDocsInABrowser|TestContractLints' ./cmd/inboxd

race: ## the tests once more, all of their operations, without the cache
	$(GO) test -race -shuffle=on -count=1 ./...

# Golden keys and folders hold the partitions of all names, of which this tag moves every other one.
ownercheck: ## all tests on a node that owns every other group, where a read or a batch in one that it never had ends the process
	$(GO) test -count=1 -tags ownercheck -skip 'TestGoldenFolder|TestGolden/^key-' ./internal/... ./persist/... ./actors/... ./http/... ./smtp/... ./cmd/...

lint: lint-go lint-page ## both of them

lint-page: ## types of the page and whether it was built
	./.ci/page types
	./.ci/page same

lint-go: ## vet, gofmt, staticcheck, who may import whom, and the bounds of make house
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo "gofmt would change these files"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...
	$(GO) test -count=1 ./internal/archtest
	$(GO) run ./internal/archtest/notice -check
	@$(GO) run ./internal/archtest/house -check > /dev/null || { $(MAKE) -s house; exit 1; }

house: ## sizes of folders, types, conditions and the whole, with their bounds
	$(GO) run ./internal/archtest/house

notice: ## NOTICE, after go.mod changed: the linked modules and their licences
	$(GO) run ./internal/archtest/notice

fuzz: ## every fuzz target for FUZZ
	./.ci/fuzz $(FUZZ)

otp-train: ## weights of the search for codes and links from its testdata, and its figures on what was left out
	$(GO) test ./internal/mail/otp ./internal/mail/otp/link -count=1 -run '^TestWeights$$' -train -v

otp-field: ## right, wrong and missed codes and links of the field corpus, by group, and of the batches that only measure
	$(GO) test ./internal/mail/otp -count=1 -run '^(TestField|TestCorpus|TestTyped|TestFresh|TestMetamorphic)$$' -field -v

bench: build ## the loads users care about, with their ratios
	./bin/inbox-bench poll
	./bin/inbox-bench ingest
	./bin/inbox-bench latency
	./bin/inbox-bench webhooks
	./bin/inbox-bench send
	./bin/inbox-bench calendar
	./bin/inbox-bench start
	./bin/inbox-bench mixed
	./bin/inbox-bench overload
	./bin/inbox-bench restart
	./bin/inbox-bench scale --inboxes 100000 --messages 100000
	./bin/inbox-bench tools

client-figures: ## what the clients for Go, TypeScript and Python add to a bare long poll, and what 100 streams weigh
	CLIENT_ROUNDS=300 $(GO) test -count=1 ./cmd/inboxd -run '^TestClientFigures$$' -v

client-reference: deps ## the references of the three clients from their docstrings, into bin/reference
	cd clients/typescript && npm run --silent reference -- --out $(CURDIR)/bin/reference/typescript
	mkdir -p bin/reference/python && cd clients/python && python3 generate.py && cd ../../bin/reference/python && \
		PYTHONPATH=../../../clients/python/src python3 -m pydoc -w inboxd inboxd.contract inboxd.pytest_plugin
	$(GO) doc -all ./http/client > bin/reference/go.txt

crash: ## CLONES crash clones, 20 kills of the real process under load, and 1,000 moves of groups
	CRASH_CLONES=$(CLONES) $(GO) test -count=1 -timeout 30m -run 'Crash' ./persist ./cmd/inboxd
	KILLS=20 $(GO) test -count=1 -timeout 30m -run 'Kill' ./cmd/inboxd
	MOVES=1000 $(GO) test -count=1 -timeout 30m -run 'GroupsComeAndGo' ./actors

soak: ## all that draws at random, for SOAK in all, 30m for example: clones, kills, failpoints, moves, simulation, each fuzz target; one summary
	./.ci/soak $(SOAK)

deps: ## unpacks what the tests use beside Go into .deps: Debian's packages and npm's; installs nothing
	./.ci/deps

# The tools are in a module of their own. The same commit and Go version always give the same bytes.
dist: ## a release into dist/: archives, .deb, image, .mcpb, components, checksums; also server.json with REPOSITORY
	cd .ci/release && $(GO) run . -version $(RELEASE) -repository "$(REPOSITORY)" -platforms "$(PLATFORMS)"

vulncheck: ## known vulnerabilities in what the programs call; asks the Go vulnerability database
	cd .ci/release && $(GO) build -o ../../bin/govulncheck golang.org/x/vuln/cmd/govulncheck
	./bin/govulncheck ./...

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | expand -t 12
