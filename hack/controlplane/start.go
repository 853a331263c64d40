// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/progress"
)

const (
	startTimeout  = 3 * time.Minute
	startAttempts = 3
	cleanTimeout  = 30 * time.Second
	startSteps    = 4
)

// errPortTaken says that something else took a port between choosing and using it.
var errPortTaken = errors.New("port taken")

// Options say what to start.
type Options struct {
	// Dir is the folder for all files of the instance.
	Dir string
	// Bin is the folder with the programs.
	Bin string
	// Nodes is the number of fake nodes.
	Nodes int
	// Show tells the user how far the start has got.
	Show *progress.Printer
}

// Start brings up an instance whose processes outlive this one. If a whole one
// runs in the folder already, it's returned as it is and fresh is false. What
// is left of an incomplete one is stopped and removed first.
func Start(ctx context.Context, o Options) (i *Instance, fresh bool, err error) {
	dir, err := resolve(o.Dir)
	if err != nil {
		return nil, false, err
	}
	release, err := guard(ctx, dir)
	if err != nil {
		return nil, false, err
	}
	defer release()
	if runnerAlive(dir) {
		return nil, false, fmt.Errorf("%s belongs to a `controlplane run` that is still going: end that one, or "+
			"choose another folder with --dir", dir)
	}
	if i := usable(ctx, dir); i != nil {
		return i, false, nil
	}
	i, err = startFresh(ctx, dir, o, process.NewDetached(), false)
	return i, true, err
}

// usable returns the instance in dir if nothing is missing in it.
func usable(ctx context.Context, dir string) *Instance {
	i, err := Open(dir)
	if err != nil || !i.record.Ready || i.record.Tied {
		return nil
	}
	status, err := i.Status(ctx)
	if err != nil || !status.Ready {
		return nil
	}
	return i
}

func startFresh(ctx context.Context, dir string, o Options, launcher *process.Launcher, tied bool) (*Instance, error) {
	if err := clean(ctx, dir, o.Show); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	for attempt := range startAttempts {
		i := &Instance{dir: dir, launcher: launcher, record: record{Bin: o.Bin, Nodes: o.Nodes, Tied: tied}}
		if err = i.bringUp(ctx, o.Show, attempt); err == nil {
			return i, nil
		}
		if stopErr := abandon(ctx, dir, err); stopErr != nil {
			return nil, errors.Join(err, stopErr)
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return nil, fmt.Errorf("the start was interrupted, and nothing of it is left: %w", ctx.Err())
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
		o.Show.Note("a port was taken meanwhile; choosing others …")
	}
	return nil, err
}

// clean stops and removes what an earlier instance left in dir.
func clean(ctx context.Context, dir string, show *progress.Printer) error {
	left, err := process.Find(dir, programNames()...)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, recordFile)); err == nil || len(left) > 0 {
		show.Note("%s holds an incomplete control plane (%d of %d components running): removing it and starting afresh",
			dir, len(left), len(Components()))
	}
	if err := stopAll(ctx, dir); err != nil {
		return err
	}
	return remove(dir)
}

// abandon ends what a failed start has left running. The folder stays for its
// logs, unless the user or a lost port race ended the start.
func abandon(ctx context.Context, dir string, cause error) error {
	keepLogs := !errors.Is(cause, errPortTaken) && !errors.Is(ctx.Err(), context.Canceled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
	defer cancel()
	if err := stopAll(ctx, dir); err != nil {
		return err
	}
	if keepLogs {
		return nil
	}
	return remove(dir)
}

func (i *Instance) bringUp(ctx context.Context, show *progress.Printer, attempt int) error {
	if err := os.MkdirAll(i.dir, 0o700); err != nil {
		return fmt.Errorf("make the instance's folder: %w", err)
	}
	if err := i.assignPorts(attempt); err != nil {
		return err
	}
	if err := i.save(); err != nil {
		return err
	}
	if err := i.writeFiles(show.Now()); err != nil {
		return err
	}
	steps := [startSteps]struct {
		label string
		work  func(context.Context) error
	}{
		{"etcd", func(ctx context.Context) error { return i.launch(ctx, Etcd) }},
		{"kube-apiserver", func(ctx context.Context) error { return i.launch(ctx, APIServer) }},
		{"kube-controller-manager, kube-scheduler, kwok", i.launchControllers},
		{fmt.Sprintf("%d nodes and the default service account", i.record.Nodes), i.waitUsable},
	}
	for n, step := range steps {
		if err := show.Track(n+1, len(steps), step.label, func() error { return step.work(ctx) }); err != nil {
			return err
		}
	}
	i.record.Ready = true
	return i.save()
}

// launchControllers starts all that needs only the API server, at once. The nodes are
// made when KWOK serves: one that finds nodes while it starts may end itself (see errRace).
func (i *Instance) launchControllers(ctx context.Context) error {
	together := []Component{ControllerManager, Scheduler, KWOK}
	results := make(chan error, len(together))
	for _, c := range together {
		go func() {
			err := i.launch(ctx, c)
			if err == nil && c == KWOK {
				err = i.createNodes(ctx)
			}
			results <- err
		}()
	}
	var err error
	for range together {
		err = errors.Join(err, <-results)
	}
	return err
}

// errRace is KWOK's end by a race in it: v0.8.0 compiles the stages of the first node
// that it finds while its server registers the same types, and both write a map of
// github.com/wzshiming/easycel v0.6.0 (types.go) that has no lock.
var errRace = errors.New("kwok has ended itself in its start")

// launch starts one component and waits until it does its work.
func (i *Instance) launch(ctx context.Context, c Component) error {
	for attempt := 1; ; attempt++ {
		if err := i.launchOnce(ctx, c); !errors.Is(err, errRace) || attempt == startAttempts {
			return err
		}
	}
}

func (i *Instance) launchOnce(ctx context.Context, c Component) error {
	child, err := i.launcher.Start(process.Spec{
		Path: filepath.Join(i.record.Bin, string(c)),
		Args: i.args(c),
		// A proxy or a configuration of the user's own has no business here. The heaps are small:
		// collecting them less often costs little memory and saves processor time.
		Env: []string{"PATH=/usr/bin:/bin", "HOME=" + i.dir, "GOGC=400"},
		Dir: i.dir,
		Log: i.Log(c),
	})
	if err != nil {
		return err
	}
	return i.waitHealthy(ctx, c, child)
}

func (i *Instance) waitHealthy(ctx context.Context, c Component, child *process.Child) error {
	var last error
	err := poll(ctx, func() (bool, error) {
		select {
		case <-child.Exited:
			return false, i.explainExit(c, child.Tail())
		default:
		}
		last = i.probe(ctx, c)
		return last == nil, nil
	})
	if err != nil && ctx.Err() != nil && last != nil {
		return fmt.Errorf("%s isn't healthy: %w: see %s", c, last, i.Log(c))
	}
	return err
}

func (i *Instance) explainExit(c Component, tail string) error {
	if strings.Contains(tail, "address already in use") {
		return fmt.Errorf("%s: %w:\n%s", c, errPortTaken, tail)
	}
	if log, err := os.ReadFile(i.Log(c)); err == nil && c == KWOK && strings.Contains(string(log), "concurrent map") {
		return fmt.Errorf("%w: see %s:\n%s", errRace, i.Log(c), tail)
	}
	return fmt.Errorf("%s ended by itself; its log %s ends with:\n%s", c, i.Log(c), tail)
}
