# One choice of a bandwidth by np: see bandwidth.py.   Rscript bandwidth.R N
suppressMessages(library(np))
options(np.messages = FALSE)
n <- as.integer(commandArgs(TRUE)[1])
frac <- function(z) z - floor(z)
i <- as.numeric(1:n)
x <- frac(i * 0.6180339887498949)
y <- sin(4 * pi * x) + 0.3 * sqrt(-2 * log(1 - frac(i * 0.41421356237309515))) * cos(2 * pi * frac(i * 0.7320508075688772))
seconds <- system.time(chosen <- npregbw(xdat = x, ydat = y, regtype = "lc", bwmethod = "cv.ls"))[["user.self"]]
cat(sprintf('{"bandwidth": %.12g, "cpu_seconds": %.5f, "version": "%s"}\n', chosen$bw, seconds, packageVersion("np")))
