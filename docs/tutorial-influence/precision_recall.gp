# gnuplot -c precision_recall.gp DATA > SVG
set terminal svg size 560,380 font "sans-serif,13" background "white"
set xlabel "recall: share of the spoilt structures that is found"
set ylabel "precision"
set xrange [0:1]
set yrange [0:1.02]
set key outside bottom center horizontal
set grid lc rgb "#dddddd"
# Okabe and Ito's colors.
array color[5] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#000000"]
stats ARG1 using 1 nooutput
plot for [i = 0 : STATS_blocks - 1] ARG1 index i using 1:2 with linespoints lw 2 pt 7 ps 0.4 lc rgb color[i + 1] \
  title columnheader(1)
