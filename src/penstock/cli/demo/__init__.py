"""Applications that come with Penstock: demonstration, benchmarks, and MODEL's programs."""
