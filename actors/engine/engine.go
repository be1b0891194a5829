package engine

import (
	"context"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/puzpuzpuz/xsync/v4"

	"inboxd/internal/base/partition"
	"inboxd/internal/base/stackpool"
)

// Options configures an Engine; all fields except Owner are required.
type Options struct {
	Now         func() time.Time
	IsDiskFull  func() bool               // the disk is full: then waits for a commit end with StorageFull
	MaxInFlight int64                     // commands in flight at one directory before others are refused
	Owner       *partition.OwnershipState // whose entities may be in memory
	Logger      *slog.Logger
}

// Engine runs the owners of some directories. All directories are created before any is used;
// afterwards it does not change.
type Engine struct {
	Options
	Clock       CoarseClock
	actorSystem *actor.ActorSystem
	workers     ownerDispatcher
	directories []*EntityDirectory
}

// New returns a running engine.
func New(o Options) *Engine {
	e := &Engine{Options: o, workers: ownerDispatcher{stackpool.NewPool(idleOwners)}}
	e.Clock.SetTime(o.Now())
	e.actorSystem = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(warningHandler{o.Logger.Handler()})
	}))
	return e
}

// NewDirectory creates a directory of the entities that activate returns.
func (e *Engine) NewDirectory(activate func(key string) Entity) *EntityDirectory {
	d := &EntityDirectory{Options: e.Options, rootContext: e.actorSystem.Root, workers: e.workers, coarseClock: &e.Clock, newEntity: activate, entities: xsync.NewMap[string, Entity]()}
	e.directories = append(e.directories, d)
	return d
}

// AcquireGroup admits commands to the entities of a group. It is the last step of acquiring a group.
func (e *Engine) AcquireGroup(g partition.Group) error {
	if !e.Owner.OwnsGroup(g) {
		e.Owner.SetOwned(g, true)
	}
	return nil
}

// ReleaseGroup refuses commands to the entities of a group and returns when none of them is in memory.
func (e *Engine) ReleaseGroup(g partition.Group) error {
	e.Owner.SetOwned(g, false)
	for _, d := range e.directories {
		d.EvictGroup(g)
	}
	return nil
}

// Stop lets every owner finish its mailbox, within grace for each directory.
func (e *Engine) Stop(grace time.Duration) {
	for _, d := range e.directories {
		for end := time.Now().Add(grace); d.entities.Size() > 0 && time.Now().Before(end); {
			d.SweepIdle(-time.Hour, 0)
			time.Sleep(5 * time.Millisecond)
		}
	}
	e.actorSystem.Shutdown()
	e.workers.End()
}

// warningHandler drops protoactor's log records below warning level.
type warningHandler struct{ slog.Handler }

func (warningHandler) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}
