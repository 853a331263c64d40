// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Labelled is what selectors look at in a target.
type Labelled struct {
	// Own are the target's labels.
	Own map[string]string
	// Namespaced says whether the labels of the target's namespace are known. No
	// namespaceSelector chooses a target without them, not even by what a label
	// isn't.
	Namespaced bool
	// Namespace are the labels of the target's namespace; for a Namespace, its own.
	Namespace map[string]string
}

// Stages places the targets of a rollout by their labels.
type Stages struct {
	strategy  *v1alpha1.RemediationStrategySpec
	selectors []selector
	canary    selector
}

// selector is a TargetSelector in a form that can be asked; a nil part agrees.
type selector struct{ namespace, own labels.Selector }

func (s selector) chooses(t Labelled) bool {
	if s.namespace != nil && !(t.Namespaced && s.namespace.Matches(labels.Set(t.Namespace))) {
		return false
	}
	return s.own == nil || s.own.Matches(labels.Set(t.Own))
}

// ReadStages reads a strategy's steps, stages and selectors. Its defaults are set. It
// fails when a selector can't be read.
func ReadStages(s *v1alpha1.RemediationStrategySpec) (*Stages, error) {
	read := &Stages{strategy: s}
	for i, stage := range s.Stages {
		chooses, err := readSelector(stage.Selector)
		if err != nil {
			return nil, fmt.Errorf("stages[%d].selector.%w", i, err)
		}
		read.selectors = append(read.selectors, chooses)
	}
	if canary := s.CanarySelector(); canary != nil {
		chooses, err := readSelector(*canary)
		if err != nil {
			return nil, fmt.Errorf("steps[0].selector.%w", err)
		}
		read.canary = chooses
	}
	return read, nil
}

func readSelector(s v1alpha1.TargetSelector) (selector, error) {
	var read selector
	var err error
	if s.NamespaceSelector != nil {
		if read.namespace, err = s.NamespaceSelector.Selector(); err != nil {
			return selector{}, fmt.Errorf("namespaceSelector: %w", err)
		}
	}
	if s.ObjectSelector != nil {
		if read.own, err = s.ObjectSelector.Selector(); err != nil {
			return selector{}, fmt.Errorf("objectSelector: %w", err)
		}
	}
	return read, nil
}

// Of is the place of the first stage that chooses the target; the number of
// stages, which is the place of Others, when none does.
func (s *Stages) Of(t Labelled) int {
	for i, selector := range s.selectors {
		if selector.chooses(t) {
			return i
		}
	}
	return len(s.selectors)
}

// Name is the name of the stage in a place; without stages, "".
func (s *Stages) Name(place int) string {
	switch {
	case len(s.selectors) == 0:
		return ""
	case place < len(s.selectors):
		return s.strategy.Stages[place].Name
	default:
		return Others
	}
}

// MayBeCanary says whether the plan's first canary may be drawn from the target.
func (s *Stages) MayBeCanary(t Labelled) bool { return s.canary.chooses(t) }

// Layout is how a plan's targets stand in waves and stages, in the order of the
// rollout.
type Layout struct {
	// Waves are those of all stages; they add up to the targets.
	Waves []v1alpha1.PlannedWave
	// Stages are those that have targets; none without stages.
	Stages []v1alpha1.PlannedStage
}

// IsCanary says whether a wave is the plan's canary, or that of a stage.
func (l Layout) IsCanary(wave int32) bool {
	return wave == 0 || slices.ContainsFunc(l.Stages, func(s v1alpha1.PlannedStage) bool { return s.FirstWave == wave })
}

// Layout gives each stage a canary and waves of its own, by Waves. The counts are
// the targets of each stage by its place, those of Others last; a stage without
// targets is left out. Of the plan's first wave, its canary, at most firstCanary
// targets remain, 1 at least: the others go into the wave after it.
func (s *Stages) Layout(counts []int, firstCanary int) (Layout, error) {
	var l Layout
	for place, count := range counts {
		waves, err := Waves(count, s.strategy.Steps)
		if err != nil {
			return Layout{}, err
		}
		if len(waves) == 0 {
			continue
		}
		if len(l.Waves) == 0 {
			waves = shrinkFirst(waves, int32(max(firstCanary, 1))) //nolint:gosec // it is a number of targets, as Waves takes it.
		}
		if name := s.Name(place); name != "" {
			l.Stages = append(l.Stages, v1alpha1.PlannedStage{Name: name, FirstWave: int32(len(l.Waves))}) //nolint:gosec // at most 9 stages of 21 waves.
		}
		l.Waves = append(l.Waves, waves...)
	}
	return l, nil
}

// Split is the layout with no wave larger than most: what is larger is split into
// several. It stays as it is when most is 0, or when there were more waves then than
// a plan can have.
func (l Layout) Split(most int) Layout {
	if most <= 0 {
		return l
	}
	first := map[int32]int32{}
	var out Layout
	for i, wave := range l.Waves {
		first[int32(i)] = int32(len(out.Waves)) //nolint:gosec // at most MaxTargets waves.
		for int(wave.Targets) > most {
			full := v1alpha1.PlannedWave{Targets: int32(most), Soak: wave.Soak} //nolint:gosec // it is a number of targets.
			out.Waves, wave.Targets = append(out.Waves, full), wave.Targets-full.Targets
		}
		out.Waves = append(out.Waves, wave)
	}
	if len(out.Waves) > v1alpha1.MaxWaves {
		return l
	}
	for _, s := range l.Stages {
		out.Stages = append(out.Stages, v1alpha1.PlannedStage{Name: s.Name, FirstWave: first[s.FirstWave]})
	}
	return out
}

// shrinkFirst moves what is more than most from the first wave to the second.
func shrinkFirst(waves []v1alpha1.PlannedWave, most int32) []v1alpha1.PlannedWave {
	surplus := waves[0].Targets - most
	if surplus <= 0 {
		return waves
	}
	if len(waves) == 1 {
		waves = append(waves, v1alpha1.PlannedWave{Soak: waves[0].Soak})
	}
	waves[0].Targets -= surplus
	waves[1].Targets += surplus
	return waves
}

// SelectorText tells a selector to people.
func SelectorText(s v1alpha1.TargetSelector) string {
	var parts []string
	if s.NamespaceSelector != nil {
		parts = append(parts, "namespaces with "+metav1.FormatLabelSelector(s.NamespaceSelector.Kubernetes()))
	}
	if s.ObjectSelector != nil {
		parts = append(parts, "objects with "+metav1.FormatLabelSelector(s.ObjectSelector.Kubernetes()))
	}
	return strings.Join(parts, ", ")
}
