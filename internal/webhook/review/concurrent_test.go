// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// versionRego refuses everything for two reasons that name the version, so that
// an answer mixed of two revisions shows.
const versionRego = `package evenkeel.test.version

deny contains "first reason of %[1]s"

deny contains msg if {
	input.object.kind == "Deployment"
	msg := sprintf("second reason of %%s", [input.parameters.version])
}
`

func versioned(version string) *v1alpha1.ClusterRegoPolicy {
	return webhooktest.NewPolicy("versioned", fmt.Sprintf(versionRego, version), func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Parameters = webhooktest.JSON(fmt.Sprintf(`{"version": %q}`, version))
		p.Spec.Title = "Version " + version
	})
}

func wantOfVersion(version string) string {
	return fmt.Sprintf(`Deployment shop/web is refused by policy versioned (High): Version %[1]s
- first reason of %[1]s
- second reason of %[1]s
  Runbook: https://runbooks.example.com/versioned`, version)
}

// While a policy is swapped to and fro, every one of 100 concurrent requests gets
// the verdict of one revision or the other, whole; the policy beside it is
// never missed; and both revisions are seen.
func TestConcurrentAdmissionWhilePoliciesAreSwapped(t *testing.T) {
	const callers, callsEach = 100, 5
	c := webhooktest.NewCatalog(t, versioned("A"), webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego))
	h := newHandler(t, v1alpha1.FailurePolicyFail, c)
	body := webhooktest.Encode(t, webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil))
	allowed := map[string]string{
		denialOfA + "\nand by " + afterBy(wantOfVersion("A")): "A",
		denialOfA + "\nand by " + afterBy(wantOfVersion("B")): "B",
	}

	stop, swapped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swapped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			if err := c.Set(versioned([]string{"B", "A"}[i%2])); err != nil {
				t.Errorf("swap %d: %v", i, err)
				return
			}
		}
	}()

	var mu sync.Mutex
	seen := map[string]int{}
	round := func() {
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range callsEach {
					message := denialMessage(t, h, body)
					version, ok := allowed[message]
					if !ok {
						t.Errorf("the answer is that of no one revision:\n%s", message)
						return
					}
					mu.Lock()
					seen[version]++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
	}
	for rounds := 0; rounds < 50 && (seen["A"] == 0 || seen["B"] == 0) && !t.Failed(); rounds++ {
		round()
	}
	close(stop)
	<-swapped
	if seen["A"] == 0 || seen["B"] == 0 {
		t.Errorf("answers by revision: %v; both must be seen, or the test shows nothing", seen)
	}
}

// afterBy drops the object, which a message names only once.
func afterBy(message string) string {
	_, rest, _ := strings.Cut(message, "refused by ")
	return rest
}
