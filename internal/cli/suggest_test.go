// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

// Whoever mistypes a command, a flag or a value is asked at once what they meant, before any cluster is.
func TestWhatIsMistypedIsAskedAfter(t *testing.T) {
	dir := commandline.Folder(t, map[string]string{
		"pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {}}\n"})
	pod := dir + "/pod.yaml"
	for typed, want := range map[string]string{
		"rolout get":                                "did you mean rollout?",
		"rollout aprove web":                        "did you mean approve?",
		"chekc -p policies .":                       "did you mean check?",
		"check --sevrity High " + pod:               "unknown flag: --sevrity; did you mean --severity?",
		"check --severity hihg " + pod:              "use Critical, High, Medium or Low; did you mean High?",
		"check --fail-on denny " + pod:              "did you mean deny?",
		"check -o jsno " + pod:                      "did you mean json?",
		"check --group-by polcy " + pod:             "did you mean policy?",
		"check --only privlieged-containers " + pod: "did you mean privileged-containers?",
		"check --skip privilegedcontainers " + pod:  "did you mean privileged-containers?",
		"scan -o tabel":                             "did you mean table?",
		"scan --fail-on wran":                       "did you mean warn?",
		"plan no-escalation -o ymal":                "did you mean yaml?",
		"policy try " + dir + " -o jsn":             "did you mean json?",
		"explain pod/x -o jsn":                      "did you mean json?",
		"breaker lits -o json":                      `no command "lits": give one of close, history, list, open, reset; did you mean list?`,
		"breaker list -o tabel":                     "did you mean table?",
		"source list -o tabel":                      "did you mean table?",
		"source get platform -o naem":               "did you mean name?",
		"version -o jason":                          "did you mean json?",
		"breaker list --outptu json":                "unknown flag: --outptu; did you mean --output?",

		// What is near nothing asks after nothing.
		"check -o gibberish " + pod: "use one of ",
		"check --gibberish " + pod:  "unknown flag: --gibberish",
	} {
		t.Run(typed, func(t *testing.T) {
			t.Setenv("KUBECONFIG", dir+"/none")
			_, message, code := commandline.Invoke(t, newRootCommand(), strings.Fields(typed)...)
			if code != command.ExitUsage || !strings.Contains(message, want) {
				t.Errorf("code %d, message %q, want code 2 and %q", code, message, want)
			}
			if asks := strings.Contains(message, "did you mean"); asks != strings.Contains(want, "did you mean") {
				t.Errorf("message %q", message)
			}
		})
	}
}
