// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/hack/demo/internal/cluster"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
	"evenkeel.dev/evenkeel/hack/demo/internal/neighbours"
	"evenkeel.dev/evenkeel/hack/demo/internal/screen"
)

// demo is the story and what its steps hand on to one another.
type demo struct {
	show     *screen.Screen
	now      func() time.Time
	programs cluster.Programs
	keep     bool

	stage    *cluster.Cluster
	client   client.WithWatch
	recorder *fleet.Recorder
	around   *neighbours.Neighbours
	current  int      // the step's number, from 1
	undone   undoMark // what step 4 leaves, which must stay so
}

// step is one part of the story.
type step struct {
	title string
	about string
	run   func(context.Context) error
}

func newDemo(show *screen.Screen, programs cluster.Programs, keep bool, now func() time.Time) *demo {
	return &demo{show: show, now: now, programs: programs, keep: keep, recorder: fleet.NewRecorder(now)}
}

// steps is the story, top to bottom.
func (d *demo) steps() []step {
	return []step{
		{"a cluster with a past", "A control plane, Evenkeel, and 40 Deployments that nobody has ever judged.",
			d.setTheStage},
		{"the policy arrives",
			"New violations are refused from now on; old ones keep nobody from working on their objects.",
			d.judgeAdmission},
		{"the fleet is fixed", "One canary first, then waves, each verified before the next.", d.fixTheFleet},
		{"a fix that does harm", "A second policy's fix is valid, but pods never become ready after it.",
			d.surviveABadFix},
		{"drift", "Somebody with break-glass permissions sets a fixed field back.", d.correctDrift},
		{"a rule that needs a yes", "Mode Manual: nobody answers, so the owner is paged; then somebody approves.",
			d.awaitApproval},
		{"what only metrics see", "A fix that is valid and healthy, but requests fail since.", d.listenToMetrics},
	}
}

func (d *demo) run(ctx context.Context) error {
	began := d.now()
	steps := d.steps()
	for i, s := range steps {
		d.current = i + 1
		d.show.Step(d.current, len(steps), s.title, s.about)
		if err := s.run(ctx); err != nil {
			return fmt.Errorf("step %d, %s: %w", d.current, s.title, err)
		}
	}
	d.show.Say("")
	d.show.Say("The same story by its columns:")
	if err := d.kubectl(ctx, "get",
		"clusterregopolicies,remediations,remediationbreakers"); err != nil {
		return err
	}
	d.show.Summary(d.now().Sub(began))
	return nil
}

// clearUpAfter stops everything after a failure. Unless it was the user who
// ended the demo, it keeps what tells why.
func (d *demo) clearUpAfter(ctx context.Context, failure error) error {
	if d.stage == nil {
		return nil
	}
	defer d.stopNeighbours()
	if ctx.Err() != nil {
		return d.stage.Stop(d.show)
	}
	var claim *claimError
	if errors.As(failure, &claim) {
		d.show.Failed(claim.claim, claim.reason)
	}
	if d.keep && d.stage.Running() {
		d.sayHowToUse()
		return nil
	}
	logs, err := d.stage.StopKeepingLogs(ctx, d.show)
	if logs != "" {
		d.show.Say("The logs, and Evenkeel's objects and events as they were: %s", logs)
	}
	return err
}

// stopNeighbours ends what plays the shop and the people on call.
func (d *demo) stopNeighbours() {
	if d.around != nil {
		_ = d.around.Stop() // the demo ends with it
	}
}

// kubectl shows a command and what it says. It errs when the command fails.
func (d *demo) kubectl(ctx context.Context, args ...string) error {
	output, ok, err := d.try(ctx, args...)
	if err == nil && !ok {
		err = fmt.Errorf("kubectl %s failed: %s", args[0], output)
	}
	return err
}

// evenkeel shows a command of Evenkeel's own and what it says. It errs when the
// command fails.
func (d *demo) evenkeel(ctx context.Context, args ...string) error {
	output, ok, err := d.stage.Evenkeel(ctx, args...)
	d.show.Command("evenkeel "+quoted(args), output)
	if err == nil && !ok {
		err = fmt.Errorf("evenkeel %s failed: %s", args[0], output)
	}
	return err
}

// try shows a command that may be refused.
func (d *demo) try(ctx context.Context, args ...string) (output string, ok bool, err error) {
	output, ok, err = d.stage.Kubectl(ctx, args...)
	d.show.Command("kubectl "+quoted(args), output)
	return output, ok, err
}
