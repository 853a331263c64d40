// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/hack/demo/internal/fleet"
)

const (
	fleetPolicy     = "privileged-containers"
	fleetPolicyDir  = "policies/security/privileged_containers"
	breakGlass      = "break-glass"
	admissionLimit  = 20 * time.Second
	availableLimit  = 45 * time.Second
	moreMemory      = "256Mi"
	otherImage      = "docker.example.com/shop/miner:1.0.0"
	scaledReplicas  = 4
	shop            = "shop"
	newcomers       = 1 // Deployments that step 2 adds to the fleet
	fleetSizeByThen = fleet.Size + newcomers
)

// judgeAdmission is step 2.
func (d *demo) judgeAdmission(ctx context.Context) error {
	name, file, err := d.buildPolicy(ctx, fleetPolicyDir, func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Admission.Exempt.Groups = []string{breakGlass}
		p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled // switched on in step 3
		p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "demo"}
	})
	if err != nil {
		return err
	}
	if name != fleetPolicy {
		return fmt.Errorf("%s holds policy %s: the demo expects %s", fleetPolicyDir, name, fleetPolicy)
	}
	strategy := filepath.Join(d.programs.Root, "hack/demo/strategy.yaml")
	if err := d.kubectl(ctx, "apply", "-f", strategy, "-f", file); err != nil {
		return err
	}
	if err := d.await(ctx, "The policy is in force at admission", admissionLimit, d.enforced); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{d.refuseTheBad, d.acceptTheGood, d.scaleAViolator,
		d.hotfixAViolator, d.refuseUnderOldPrivilege} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

// enforced holds once a dry run of a violating Deployment is refused.
func (d *demo) enforced(ctx context.Context) (string, bool, error) {
	p, err := d.policy(ctx, fleetPolicy)
	if err != nil {
		return "", false, err
	}
	bad := fleet.Deployment(shop, "probe", true)
	err = d.client.Create(ctx, bad, client.DryRunAll)
	if err == nil {
		return "a violating Deployment would still be accepted", false, nil
	}
	if !strings.Contains(err.Error(), fleetPolicy) {
		return "", false, fmt.Errorf("a dry run was refused for another reason: %w", err)
	}
	return "revision " + p.Status.Revision, p.Status.Revision != "", nil
}

func (d *demo) refuseTheBad(ctx context.Context) error {
	bad := fleet.Deployment(shop, "debug", true)
	began := d.now()
	output, accepted, err := d.applyDeployment(ctx, bad)
	if err != nil {
		return err
	}
	took := d.now().Sub(began)
	return d.expect(ctx, "A new violating Deployment is refused, by name of the policy", took,
		func(ctx context.Context) (string, bool, error) {
			if accepted || !strings.Contains(output, fleetPolicy) {
				return "kubectl apply said: " + output, false, nil
			}
			err := d.client.Get(ctx, client.ObjectKeyFromObject(bad), bad)
			if client.IgnoreNotFound(err) != nil {
				return "", false, fmt.Errorf("look for the refused Deployment: %w", err)
			}
			return "it doesn't exist", apierrors.IsNotFound(err), nil
		})
}

func (d *demo) acceptTheGood(ctx context.Context) error {
	good := fleet.Deployment(shop, "status", false)
	claim := "A good one is accepted, and runs"
	if _, accepted, err := d.applyDeployment(ctx, good); err != nil {
		return err
	} else if !accepted {
		return &claimError{claim, errors.New("kubectl apply failed: see above")}
	}
	return d.await(ctx, claim, availableLimit, d.available(client.ObjectKeyFromObject(good), nil))
}

// scaleAViolator shows that an old violation blocks nothing else.
func (d *demo) scaleAViolator(ctx context.Context) error {
	key := client.ObjectKey{Namespace: shop, Name: "web"}
	if err := d.kubectl(ctx, "-n", key.Namespace, "scale", "deployment/"+key.Name,
		fmt.Sprintf("--replicas=%d", scaledReplicas)); err != nil {
		return err
	}
	return d.await(ctx, "An old violator can still be scaled", availableLimit,
		d.available(key, func(o *appsv1.Deployment) bool {
			return fleet.Violates(o) && o.Status.AvailableReplicas == scaledReplicas
		}))
}

// hotfixAViolator shows that what isn't about the violation can be changed.
func (d *demo) hotfixAViolator(ctx context.Context) error {
	key := client.ObjectKey{Namespace: shop, Name: "api"}
	if err := d.kubectl(ctx, "-n", key.Namespace, "set", "resources", "deployment/"+key.Name,
		"--limits=memory="+moreMemory); err != nil {
		return err
	}
	return d.await(ctx, "An old violator can still get more memory", availableLimit,
		d.available(key, func(o *appsv1.Deployment) bool {
			limit := o.Spec.Template.Spec.Containers[0].Resources.Limits.Memory()
			return fleet.Violates(o) && limit.String() == moreMemory
		}))
}

// refuseUnderOldPrivilege shows that an old violation is no cover for a new program.
func (d *demo) refuseUnderOldPrivilege(ctx context.Context) error {
	key := client.ObjectKey{Namespace: shop, Name: "api"}
	began := d.now()
	output, accepted, err := d.try(ctx, "-n", key.Namespace, "set", "image", "deployment/"+key.Name,
		key.Name+"="+otherImage)
	if err != nil {
		return err
	}
	took := d.now().Sub(began)
	return d.expect(ctx, "Nobody gets another image to run under its privilege", took,
		func(ctx context.Context) (string, bool, error) {
			if accepted || !strings.Contains(output, fleetPolicy) {
				return "kubectl set image said: " + output, false, nil
			}
			o := &appsv1.Deployment{}
			if err := d.client.Get(ctx, key, o); err != nil {
				return "", false, fmt.Errorf("read Deployment %s: %w", key, err)
			}
			image := o.Spec.Template.Spec.Containers[0].Image
			return "it runs " + image, image != otherImage, nil
		})
}

// applyDeployment writes a Deployment to a file and applies it.
func (d *demo) applyDeployment(ctx context.Context, o *appsv1.Deployment) (output string, accepted bool, err error) {
	text, err := yaml.Marshal(o)
	if err != nil {
		return "", false, fmt.Errorf("write Deployment %s: %w", o.Name, err)
	}
	file := o.Name + ".yaml"
	if err := os.WriteFile(filepath.Join(d.stage.Work(), file), text, 0o600); err != nil {
		return "", false, fmt.Errorf("write Deployment %s: %w", o.Name, err)
	}
	return d.try(ctx, "apply", "-f", file)
}

// available holds when the Deployment is available as it is declared now, and
// so is what the demo asks for besides.
func (d *demo) available(key client.ObjectKey, besides func(*appsv1.Deployment) bool) check {
	return func(ctx context.Context) (string, bool, error) {
		var o appsv1.Deployment
		if err := d.client.Get(ctx, key, &o); err != nil {
			return "", false, fmt.Errorf("read Deployment %s: %w", key, err)
		}
		seen := fmt.Sprintf("%s, %d of %d available", key, o.Status.AvailableReplicas, ptr.Deref(o.Spec.Replicas, 1))
		return seen, fleet.Available(&o) && (besides == nil || besides(&o)), nil
	}
}
