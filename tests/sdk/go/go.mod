module runnel/sdk

go 1.23.0

require (
	github.com/Azure/azure-sdk-for-go/sdk/azcore v1.19.1
	github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos v1.4.1
)
