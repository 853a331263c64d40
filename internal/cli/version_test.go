// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/version"
)

func TestWriteVersion(t *testing.T) {
	release := version.Build{Version: "v0.1.0", Commit: "0123abc", Date: "2026-03-01T12:00:00Z", GoVersion: "go1.26.1",
		Platform: "linux/arm64"}
	changed := release
	changed.Modified = true
	cases := map[string]struct {
		reason  string
		format  string
		version version.Build
		want    string
		wantErr string
	}{
		"text tells all of it": {
			reason: "a report of a bug should need no second question", format: "text", version: release,
			want: "Version:  v0.1.0\nCommit:   0123abc\nDate:     2026-03-01T12:00:00Z\nGo:       go1.26.1 " +
				"linux/arm64\n",
		},
		"text says what isn't known": {
			reason: "an archive has no commit", format: "text",
			version: version.Build{Version: "dev", GoVersion: "go1.26.1", Platform: "linux/amd64"},
			want:    "Version:  dev\nCommit:   unknown\nDate:     unknown\nGo:       go1.26.1 linux/amd64\n",
		},
		"json is for programs": {
			reason: "fields that don't apply are left out", format: "json", version: release,
			want: `{
  "version": "v0.1.0",
  "commit": "0123abc",
  "date": "2026-03-01T12:00:00Z",
  "goVersion": "go1.26.1",
  "platform": "linux/arm64"
}
`,
		},
		"yaml has the same fields": {
			reason: "changes on top of a commit must be seen", format: "yaml", version: changed,
			want: "commit: 0123abc\ndate: \"2026-03-01T12:00:00Z\"\ngoVersion: go1.26.1\nmodified: true\nplatform: " +
				"linux/arm64\nversion: v0.1.0\n",
		},
		"another format is refused": {
			reason: "the message names the formats that there are", format: "xml", version: release,
			wantErr: "use one of text, json, yaml",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			text, err := versionAs(tc.format, tc.version)
			if tc.wantErr == "" && err != nil || tc.wantErr != "" &&
				(err == nil || !strings.Contains(err.Error(), tc.wantErr)) {
				t.Fatalf("%s: error %v, want %q", tc.reason, err, tc.wantErr)
			}
			if diff := cmp.Diff(tc.want, string(text)); diff != "" {
				t.Errorf("%s (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
