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
	Now       func() time.Time
	Full      func() bool      // the disk is full: then waits for a commit end with StorageFull
	Admission int64            // commands in flight at one directory before others are refused
	Owner     *partition.Owner // whose entities may be in memory
	Logger    *slog.Logger
}

// Engine runs the owners of some directories. All directories are created before any is used;
// afterwards it does not change.
type Engine struct {
	Options
	Clock       Clock
	actors      *actor.ActorSystem
	workers     dispatcher
	directories []*Directory
}

// New returns a running engine.
func New(o Options) *Engine {
	e := &Engine{Options: o, workers: dispatcher{stackpool.NewPool(idleOwners)}}
	e.Clock.Set(o.Now())
	e.actors = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(warnings{o.Logger.Handler()})
	}))
	return e
}

// Directory creates a directory of the entities that activate returns.
func (e *Engine) Directory(activate func(key string) Entity) *Directory {
	d := &Directory{Options: e.Options, root: e.actors.Root, workers: e.workers, clock: &e.Clock, activate: activate, entities: xsync.NewMap[string, Entity]()}
	e.directories = append(e.directories, d)
	return d
}

// Gain admits commands to the entities of a group. It is the last step of acquiring a group.
func (e *Engine) Gain(g partition.Group) error {
	if !e.Owner.Owns(g) {
		e.Owner.Set(g, true)
	}
	return nil
}

// Lose refuses commands to the entities of a group and returns when none of them is in memory.
func (e *Engine) Lose(g partition.Group) error {
	e.Owner.Set(g, false)
	for _, d := range e.directories {
		d.Evict(g)
	}
	return nil
}

// Stop lets every owner finish its mailbox, within grace for each directory.
func (e *Engine) Stop(grace time.Duration) {
	for _, d := range e.directories {
		for end := time.Now().Add(grace); d.entities.Size() > 0 && time.Now().Before(end); {
			d.Sweep(-time.Hour, 0)
			time.Sleep(5 * time.Millisecond)
		}
	}
	e.actors.Shutdown()
	e.workers.End()
}

// warnings drops protoactor's log records below warning level.
type warnings struct{ slog.Handler }

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
