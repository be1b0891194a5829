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

// Options configures an Engine; all but Owner are needed.
type Options struct {
	Now       func() time.Time
	Full      func() bool      // the disk is full: who waits for a commit is told so
	Admission int64            // commands in flight at one directory before others are refused
	Owner     *partition.Owner // whose entities may be in memory
	Logger    *slog.Logger
}

// Engine runs the owners of some directories. Its directories are made before any is used;
// afterwards it does not change.
type Engine struct {
	Options
	Clock       Clock
	actors      *actor.ActorSystem
	workers     dispatcher
	directories []*Directory
}

// New returns an engine that runs.
func New(o Options) *Engine {
	e := &Engine{Options: o, workers: dispatcher{stackpool.NewPool(idleOwners)}}
	e.Clock.Set(o.Now())
	e.actors = actor.NewActorSystem(actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(warnings{o.Logger.Handler()})
	}))
	return e
}

// Directory makes a directory of the entities that activate makes.
func (e *Engine) Directory(activate func(key string) Entity) *Directory {
	d := &Directory{Options: e.Options, root: e.actors.Root, workers: e.workers, clock: &e.Clock, activate: activate, entities: xsync.NewMap[string, Entity]()}
	e.directories = append(e.directories, d)
	return d
}

// Gain has the entities of a group asked for; it is the last thing that a node learns of a group.
func (e *Engine) Gain(g partition.Group) error {
	if !e.Owner.Owns(g) {
		e.Owner.Set(g, true)
	}
	return nil
}

// Lose has no entity of a group asked for any more, and returns when none is in memory.
func (e *Engine) Lose(g partition.Group) error {
	e.Owner.Set(g, false)
	for _, d := range e.directories {
		d.Evict(g)
	}
	return nil
}

// Stop lets every owner finish what was posted to it, within grace for each directory.
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

// warnings passes on what protoactor says from a warning up.
type warnings struct{ slog.Handler }

func (warnings) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
