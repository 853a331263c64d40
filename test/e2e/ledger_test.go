// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"encoding/json"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
)

// target matches the writes that change a ConfigMap of the namespace.
func target(namespace string) faultproxy.Match {
	return func(r faultproxy.Request) bool {
		return r.IsWrite() && r.Resource == "configmaps" && r.Namespace == namespace
	}
}

// patched counts the successful patches of each target, by UID.
func patched(namespace string, writes []faultproxy.Write) map[string]int {
	counts := map[string]int{}
	for _, w := range writes {
		if target(namespace)(w.Request) && w.Succeeded() {
			counts[w.UID]++
		}
	}
	return counts
}

// expectIntentsFirst checks the write-ahead rule: whenever a target was patched,
// the latest slice stored before held the intent to do so.
func expectIntentsFirst(namespace string, writes []faultproxy.Write) {
	GinkgoHelper()
	stored := map[string]v1alpha1.TargetState{}
	for _, w := range writes {
		switch {
		case !w.Succeeded():
		case w.Resource == "remediationslices" && w.Method == http.MethodPut:
			remember(stored, w.Body)
		case target(namespace)(w.Request) && w.Method == http.MethodPatch:
			Expect(stored).To(HaveKeyWithValue(w.UID, v1alpha1.TargetIntent),
				"%s was patched without a stored intent", w.Name)
		}
	}
}

// remember takes the states out of the body of a slice's write.
func remember(stored map[string]v1alpha1.TargetState, body []byte) {
	GinkgoHelper()
	var slice v1alpha1.RemediationSlice
	Expect(json.Unmarshal(body, &slice)).To(Succeed())
	for i, rec := range slice.Records {
		stored[slice.Targets[i].Object.UID] = rec.State
	}
}
