// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Others is the name of the stage of targets that no stage chooses.
const Others = "others"

// The longest lists and names of a rollout.
const (
	maxSteps     = 20
	maxStages    = 8
	maxStageName = 63
)

// checkSteps compares counts with counts and percentages with percentages: the
// two compare only once the number of targets is known, and Waves drops a step
// that then adds nothing.
func checkSteps(p *problems, steps []v1alpha1.RolloutStep) {
	p.atMost("steps", len(steps), maxSteps)
	previous := map[bool]share{}
	for i, step := range steps {
		field := fmt.Sprintf("steps[%d].", i)
		if step.Selector != nil {
			checkSelector(p, field+"selector", *step.Selector)
			if i > 0 {
				p.add(field+"selector", "only the first step, the canary, may have one: to fix a part of the fleet "+
					"first, use stages")
			}
		}
		if step.Soak != nil {
			p.lasts(field+"soak", *step.Soak, 0, maxSoak)
		}
		targets, err := parseShare(step.Targets)
		if err != nil {
			p.addErr(field+"targets", err)
			continue
		}
		if before, ok := previous[targets.percent]; ok && targets.value < before.value {
			p.add(field+"targets", "%s: it counts the targets of the steps before it too, and must never fall; an "+
				"earlier one is already %s", targets, before)
		} else if ok && before.all() {
			p.add(field+"targets", "%s: a step before it is 100%% already, and none may follow", targets)
		}
		checkStepApproval(p, field+"approval", step.Approval, targets)
		previous[targets.percent] = targets
	}
}

func checkStepApproval(p *problems, field string, approval v1alpha1.StepApproval, targets share) {
	oneOf(p, field, approval, v1alpha1.ApprovalRequired)
	if approval != "" && targets.all() {
		p.add(field, "a step of 100%% can't have it: no step follows that could wait for it")
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
