// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestAnalysisOptions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason  string
		options analysisOptions
		want    string
	}{
		"no flag at all is right": {"analysis is optional", analysisOptions{}, ""},
		"an address with its files is right": {
			"the usual setting", analysisOptions{url: "https://prometheus:9090", bearerTokenFile: file}, ""},
		"an address must be a URL": {"the flag is named", analysisOptions{url: "prometheus:9090"},
			"--prometheus-url"},
		"a password is refused unseen": {
			"a command line is public", analysisOptions{url: "https://me:hush@prometheus"},
			"--prometheus-url must hold no user or password"},
		"a file that isn't there is wrong": {
			"the flag is named", analysisOptions{url: "https://prometheus", caFile: file + "x"},
			"--prometheus-ca-file"},
		"files without an address are wrong": {"they'd do nothing", analysisOptions{bearerTokenFile: file},
			"--prometheus-url must be set"},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.options.Validate()
			if (err == nil) != (tc.want == "") || err != nil &&
				(!strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "hush")) {
				t.Errorf("%s: got %v, want %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestWithoutTheFlagThereIsNoAnalyzer(t *testing.T) {
	got, err := (&analysisOptions{}).analyzer(prometheus.NewRegistry())
	if got != nil || err != nil {
		t.Errorf("got %v, %v: remediation tells by nil that nobody can be asked", got, err)
	}
	got, err = (&analysisOptions{url: "http://prometheus:9090"}).analyzer(prometheus.NewRegistry())
	if got == nil || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}
