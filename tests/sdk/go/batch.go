// batch.go -- patches and transactional batches.
package main

import "github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

func counting(condition string) azcosmos.PatchOperations {
	patch := azcosmos.PatchOperations{}
	patch.AppendIncrement("/n", 1)
	if condition != "" {
		patch.SetCondition(condition)
	}
	return patch
}

func statuses(answer azcosmos.TransactionalBatchResponse) []int {
	var found []int
	for _, each := range answer.OperationResults {
		found = append(found, int(each.StatusCode))
	}
	return found
}

func testBatch(client *azcosmos.Client) {
	c := newContainer(newDatabase(client, "go-batch"), definition("c", 2, "/pk"))
	p := azcosmos.NewPartitionKeyString("p")
	item := func(id string, n int) []byte {
		return body(object{"id": id, "pk": "p", "n": n})
	}
	number := func(id string) any {
		return parse(must(c.ReadItem(ctx, p, id, nil)).Value)["n"]
	}

	test("a patch changes a document under a condition", func() {
		must(c.CreateItem(ctx, p, item("patched", 1), nil))
		patch := counting("from c where c.n = 1")
		patch.AppendSet("/s", "x")
		patch.AppendReplace("/s", "y")
		patch.AppendAdd("/l", []int{1})
		patch.AppendRemove("/l/0")
		must(c.PatchItem(ctx, p, "patched", patch, nil))
		found := parse(must(c.ReadItem(ctx, p, "patched", nil)).Value)
		equal(found["n"], any(2.0))
		equal(found["s"], any("y"))
		fails[azcosmos.ItemResponse](412, "")(c.PatchItem(ctx, p, "patched",
			counting("from c where c.n = 1"), nil))
		fails[azcosmos.ItemResponse](404, "")(c.PatchItem(ctx, p, "absent",
			counting(""), nil))
	})

	test("a batch happens in whole or not at all", func() {
		must(c.CreateItem(ctx, p, item("b", 1), nil))
		good := c.NewTransactionalBatch(p)
		good.CreateItem(item("b-new", 1), nil)
		good.UpsertItem(item("b-up", 1), nil)
		good.ReplaceItem("b", item("b", 5), nil)
		good.ReadItem("b", nil)
		good.PatchItem("b", counting(""), nil)
		good.DeleteItem("b-up", nil)
		done := must(c.ExecuteTransactionalBatch(ctx, good, nil))
		equal(done.Success, true)
		equal(statuses(done), []int{201, 201, 200, 200, 200, 204})
		equal(parse(done.OperationResults[3].ResourceBody)["n"], any(5.0))
		equal(number("b"), any(6.0))

		bad := c.NewTransactionalBatch(p)
		bad.PatchItem("b", counting(""), nil)
		bad.CreateItem(item("b-new", 1), nil)
		bad.DeleteItem("b", nil)
		refused := must(c.ExecuteTransactionalBatch(ctx, bad, nil))
		equal(refused.Success, false)
		equal(statuses(refused), []int{424, 409, 424})
		equal(number("b"), any(6.0))
	})
}
