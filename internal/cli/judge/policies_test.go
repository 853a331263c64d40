// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericclioptions"

	"evenkeel.dev/evenkeel/internal/cli/connect"
)

// --cluster meant the policies in force once. An old script must not go on by other rules:
// "fix --cluster --dry-run deploy/" would write the files.
func TestAClusterThatNobodyWouldAskIsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		cluster          string
		offline, inForce bool
		want             string
	}{
		"a switch taken for a name": {
			cluster: "--dry-run", offline: true, want: `--cluster "--dry-run" names a cluster`},
		"a path taken for a name":        {cluster: "deploy/", offline: true, want: "add --in-force"},
		"nothing is named":               {offline: true},
		"the cluster is asked":           {cluster: "prod", offline: true, inForce: true},
		"a command that asks one anyway": {cluster: "prod"},
	} {
		t.Run(name, func(t *testing.T) {
			flags := genericclioptions.NewConfigFlags(true)
			*flags.ClusterName = tc.cluster
			c := policyChoice{offline: tc.offline, cluster: tc.inForce, connection: &connect.Flags{ConfigFlags: flags}}
			err := c.asksWhatIsNamed()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
