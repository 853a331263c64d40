// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Others is the name of the stage of targets that no stage chooses.
const Others = "others"

// The longest lists and names of a rollout.
const (
	maxWaves     = 20
	maxStages    = 8
	maxStageName = 63
)

func checkCanary(p *problems, c v1alpha1.CanaryStrategy) {
	if c.Size != nil {
		_, err := parseShare(*c.Size)
		p.addErr("canary.size", err)
	}
	if c.Selector != nil {
		checkSelector(p, "canary.selector", *c.Selector)
	}
	if c.Soak != nil {
		p.lasts("canary.soak", *c.Soak, 0, maxSoak)
	}
}

// checkWaves compares counts with counts and percentages with percentages: the
// two compare only once the number of targets is known, and Sizes drops a wave
// that then adds nothing.
func checkWaves(p *problems, waves []intstr.IntOrString) {
	p.atMost("waves", len(waves), maxWaves)
	previous := map[bool]share{}
	for i, wave := range waves {
		field := fmt.Sprintf("waves[%d]", i)
		step, err := parseShare(wave)
		if err != nil {
			p.addErr(field, err)
			continue
		}
		if before, ok := previous[step.percent]; ok && step.value < before.value {
			p.add(field, "%s: waves are cumulative and must never fall; an earlier one is already %s", wave.String(),
				before)
		}
		previous[step.percent] = step
	}
	if last := len(waves) - 1; last >= 0 && waves[last].String() != "100%" {
		p.add(fmt.Sprintf("waves[%d]", last), `%s: the last wave must be "100%%", or some targets are in no wave`,
			waves[last].String())
	}
}

func checkStages(p *problems, stages []v1alpha1.RolloutStage) {
	p.atMost("stages", len(stages), maxStages)
	taken := map[string]int{}
	for i, stage := range stages {
		field := fmt.Sprintf("stages[%d]", i)
		earlier, double := taken[stage.Name]
		switch {
		case strings.TrimSpace(stage.Name) == "" || len(stage.Name) > maxStageName:
			p.add(field+".name", "%q: must have from 1 to %d characters", stage.Name, maxStageName)
		case strings.EqualFold(stage.Name, Others):
			p.add(field+".name", "%q is the stage of targets that no stage chooses: give another name", stage.Name)
		case double:
			p.add(field+".name", "%q is the name of stages[%d] already: give another one", stage.Name, earlier)
		default:
			taken[stage.Name] = i
		}
		checkSelector(p, field+".selector", stage.Selector)
	}
}

// checkSelector refuses a selector that chooses everything by saying nothing:
// it is more likely forgotten than meant.
func checkSelector(p *problems, field string, s v1alpha1.TargetSelector) {
	if !s.NamespaceSelector.Selects() && !s.ObjectSelector.Selects() {
		p.add(field, "it chooses every target: give namespaceSelector or objectSelector, or leave it out with what it "+
			"belongs to")
	}
	_, err := s.NamespaceSelector.Selector()
	p.addErr(field+".namespaceSelector", err)
	_, err = s.ObjectSelector.Selector()
	p.addErr(field+".objectSelector", err)
}
