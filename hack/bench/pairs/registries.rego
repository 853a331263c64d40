package registries

violation[{"msg": "registries"}] {
	c := input.review.object.spec.containers[_]
	not allowed(c.image)
}

allowed(image) { startswith(image, "registry.example.com/") }
allowed(image) { startswith(image, "mirror.example.com/") }
