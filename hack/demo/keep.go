// SPDX-License-Identifier: Apache-2.0

package main

import "evenkeel.dev/evenkeel/hack/demo/internal/cluster"

// sayHowToUse prints what to do with a cluster that stays.
func (d *demo) sayHowToUse() {
	s := d.stage
	d.show.Say("")
	d.show.Say("The cluster stays, and the manager goes on (process %d, log and files in %s).\n"+
		"  export KUBECONFIG=%s\n"+
		"  alias kubectl=%s\n"+
		"  kubectl get rego,remediations,remediationbreakers\n"+
		"  kubectl get events.events.k8s.io --sort-by=.metadata.creationTimestamp\n"+
		"Prometheus and Alertmanager have ended: they played before people who are gone, too.\n"+
		"Stop it in the top folder of the clone; the manager ends by itself when its cluster is gone:\n"+
		"  make down NAME=%s",
		s.ManagerPID(), s.Work(), s.Kubeconfig(), s.KubectlPath(), cluster.KeptName)
}
