--help/hal.access_flavour.o: hal/src/access_flavour.cpp \
 hal/include/freehca/hal/access_flavour.hpp
