# tests/golden/dpill.json: dpill of R's KernSmooth on data that needs no random generator (kernel_curve in
# tests/regress/rules_test.cpp makes the same doubles).   Rscript tests/golden/make_dpill.R > tests/golden/dpill.json
library(KernSmooth)
frac <- function(z) z - floor(z)
rows <- c()
for (n in c(60, 150, 1000, 5000)) for (waves in c(1, 3)) {
  i <- as.numeric(1:n)
  x <- frac(i * 0.6180339887498949)
  y <- sin(2 * pi * waves * x) + 0.3 * sqrt(-2 * log(1 - frac(i * 0.41421356237309515))) *
    cos(2 * pi * frac(i * 0.7320508075688772))
  rows <- c(rows, sprintf('  {"n": %d, "waves": %d, "bandwidth": %.15g}', n, waves, dpill(x, y)))
}
cat(sprintf('{"made_by": "make_dpill.R, R %s, KernSmooth %s",\n "rows": [\n%s\n]}\n', getRversion(),
            packageVersion("KernSmooth"), paste(rows, collapse = ",\n")))
