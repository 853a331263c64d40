// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/onsi/ginkgo/v2/types"
)

// journeyEntry is the name under which a spec's report holds what a person did.
const journeyEntry = "journey"

// journey is what a person did in a spec. Its fields are exported for the reports of other processes.
type journey struct {
	Person string
	Steps  []step
}

// step is one command of a journey.
type step struct {
	Typed string
	Took  time.Duration
}

// journey is what the person did up to now.
func (p *person) journey() journey { return journey{p.name, p.steps} }

// took is how long the steps took in all, and which took longest.
func (j journey) took() (total time.Duration, slowest step) {
	for _, s := range j.Steps {
		if total += s.Took; s.Took > slowest.Took {
			slowest = s
		}
	}
	return total, slowest
}

// String lists the steps with the time that each took.
func (j journey) String() string {
	var out strings.Builder
	fmt.Fprintf(&out, "the journey of %s\n", j.Person)
	for _, s := range j.Steps {
		fmt.Fprintf(&out, "%8s  %s\n", s.Took.Round(time.Millisecond), s.line())
	}
	total, _ := j.took()
	fmt.Fprintf(&out, "%8s  in all, by %d commands\n", total.Round(time.Millisecond), len(j.Steps))
	return out.String()
}

// line is the first line of a command.
func (s step) line() string {
	first, _, more := strings.Cut(s.Typed, "\n")
	if more {
		first += " …"
	}
	return first
}

// maxTyped is how many characters of a command the table shows.
const maxTyped = 60

// table shows who did what, and how long that took.
func table(specs []types.SpecReport) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "OUTCOME\tTOOK\tCOMMANDS\tPERSON\tJOURNEY\tSLOWEST STEP")
	journeys, all := 0, time.Duration(0)
	for _, spec := range specs {
		for _, entry := range spec.ReportEntries {
			if entry.Name != journeyEntry {
				continue
			}
			j, err := journeyIn(entry)
			if err != nil {
				return err.Error()
			}
			outcome := "done"
			if spec.State.Is(types.SpecStateFailureStates) {
				outcome = "FAILED"
			}
			total, slowest := j.took()
			journeys, all = journeys+1, all+total
			fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s %.*s\n", outcome, total.Round(100*time.Millisecond), len(j.Steps),
				j.Person, spec.FullText(), slowest.Took.Round(100*time.Millisecond), maxTyped, slowest.line())
		}
	}
	if err := w.Flush(); err != nil {
		return err.Error()
	}
	fmt.Fprintf(&out, "\n%d journeys, %s in all\n", journeys, all.Round(time.Second))
	return out.String()
}

// journeyIn is the journey of a report's entry, of this process or another one.
func journeyIn(entry types.ReportEntry) (j journey, err error) {
	text, err := json.Marshal(entry.GetRawValue())
	if err != nil {
		return j, fmt.Errorf("read what a person did: %w", err)
	}
	return j, json.Unmarshal(text, &j)
}

// The table names each person's journey with its time, whichever process it was in.
func TestTheTableTellsHowLongEachPersonTook(t *testing.T) {
	dana := journey{"dana", []step{{"kubectl get pods", time.Second},
		{"evenkeel fix -\napiVersion: v1", 3 * time.Second}}}
	var elsewhere any
	if text, err := json.Marshal(dana); err != nil || json.Unmarshal(text, &elsewhere) != nil {
		t.Fatal("a journey can't be sent to another process")
	}
	spec := func(text string, state types.SpecState, value any) types.SpecReport {
		return types.SpecReport{ContainerHierarchyTexts: []string{"Whoever is on call"}, LeafNodeText: text,
			State: state, ReportEntries: types.ReportEntries{{Name: "another"},
				{Name: journeyEntry, Value: types.WrapEntryValue(value)}}}
	}
	var got []string
	for line := range strings.Lines(table([]types.SpecReport{spec("stops it", types.SpecStatePassed, dana),
		spec("lets go", types.SpecStateFailed, elsewhere)})) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{"OUTCOME TOOK COMMANDS PERSON JOURNEY SLOWEST STEP",
		"done 4s 2 dana Whoever is on call stops it 3s evenkeel fix - …",
		"FAILED 4s 2 dana Whoever is on call lets go 3s evenkeel fix - …", "", "2 journeys, 8s in all"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
